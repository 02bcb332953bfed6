// A team of threads that share out the tasks of one job.
//
// A decoder step is some seventy short jobs, so the cost of starting one decides everything: helpers spin for a moment
// before they sleep, and a job begins with one atomic store. Tasks are claimed, not assigned: a helper that is asleep, or
// was pushed off its core by another program, claims nothing, and nobody waits for it. A member that is in the midst of a
// task when it is pushed off has to be waited for: by yielding, which gives it the core, never by spinning for long.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
inline void relax() { _mm_pause(); }
#else
inline void relax() { std::this_thread::yield(); }
#endif

// Part `part` of `count` items cut into `parts`: [begin, end).
struct Share {
    long begin, end;
    Share(long count, long part, long parts) : begin(count * part / parts), end(count * (part + 1) / parts) {}
};

class Team {
  public:
    using Work = std::function<void(long task, int member)>;

    // As many members as were asked for, or as the operating system grants: results do not depend on their number.
    explicit Team(int size) {
        helpers_.reserve(std::max(size, 1));
        try {
            for (int member = 1; member < size; ++member) helpers_.emplace_back([this, member] { serve(member); });
        } catch (const std::system_error&) {
        }
        size_ = int(helpers_.size()) + 1;
    }

    ~Team() {
        stopping_.store(true);
        publish(0);
        for (auto& helper : helpers_) helper.join();
    }

    int size() const { return size_; }

    // Into how many tasks to cut a job of `rows` rows: the more there is to do, the more parts, so that nobody waits long
    // for the last one.
    long parts_of(long rows) const { return size_ * (rows < 8 ? 3 : 8); }

    // Do something for every row; few rows are not worth waking the team.
    template <typename RowWork>
    void for_rows(long rows, const RowWork& work) {
        const long parts = rows < 2 * size_ ? 1 : std::min(rows, parts_of(rows));
        run(parts, [&](long part, int member) {
            const Share mine(rows, part, parts);
            for (long row = mine.begin; row < mine.end; ++row) work(row, member);
        });
    }

    // Call work(task, member) once for each task below `tasks`, on whichever member is free, and return when all are done.
    // What a task throws is thrown here, once all have ended.
    void run(long tasks, const Work& work) {
        if (size_ == 1 || tasks == 1) {
            for (long task = 0; task < tasks; ++task) work(task, 0);
            return;
        }
        work_ = &work;
        open_.store(tasks, std::memory_order_relaxed);
        publish(uint32_t(tasks));
        help(0);
        for (int spins = 0; open_.load(std::memory_order_acquire) != 0; ++spins)
            spins < kSpins ? relax() : std::this_thread::yield();
        if (failed_.exchange(false)) std::rethrow_exception(std::exchange(failure_, nullptr));
    }

  private:
    static constexpr int kSpins = 4000;

    // The number of the job in the upper half, the tasks nobody has claimed yet in the lower: one word, so that a claim
    // made for an old job can never take a task of a new one.
    void publish(uint32_t tasks) {
        board_.store(((board_.load(std::memory_order_relaxed) >> 32) + 1) << 32 | tasks, std::memory_order_release);
        board_.notify_all();
    }

    void help(int member) {
        uint64_t board = board_.load(std::memory_order_acquire);
        while (uint32_t(board) != 0) {
            if (!board_.compare_exchange_weak(board, board - 1, std::memory_order_acq_rel)) continue;
            // The job cannot end before this task has, so `work_` is still its own.
            try {
                (*work_)(long(uint32_t(board)) - 1, member);
            } catch (...) {
                if (!failed_.exchange(true)) failure_ = std::current_exception();
            }
            open_.fetch_sub(1, std::memory_order_acq_rel);
            board = board_.load(std::memory_order_acquire);
        }
    }

    void serve(int member) {
        while (!stopping_.load()) {
            help(member);
            uint64_t board = board_.load(std::memory_order_acquire);
            for (int spins = 0; uint32_t(board) == 0 && spins < kSpins; ++spins) {
                relax();
                board = board_.load(std::memory_order_acquire);
            }
            if (uint32_t(board) == 0 && !stopping_.load()) board_.wait(board, std::memory_order_acquire);
        }
    }

    int size_ = 1;
    std::vector<std::thread> helpers_;
    const Work* work_ = nullptr;
    std::atomic<bool> stopping_{false}, failed_{false};
    std::exception_ptr failure_;  // of the first task that threw
    alignas(64) std::atomic<uint64_t> board_{0};
    alignas(64) std::atomic<long> open_{0};
};
