"""The stream of batches over any corpus: every pair in every epoch, within the budget, the same at every visit."""

import json
import tempfile
from collections import Counter
from pathlib import Path

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.config.data import DataConfig, FilterConfig, JsonlCorpus, TokenizerConfig
from heedful.data.filters import PairFilter
from heedful.data.store import SubwordDropout, prepare_store
from heedful.data.stream import BatchStream
from heedful.text.learning import learn_tokenizer

LINES = ["a man rides a red bike", "two men ride bikes", "ein Mann fährt ein rotes Rad", "我看见我"] * 4
TOKENIZER = learn_tokenizer(TokenizerConfig(vocab_size=400), LINES, LINES)
texts = st.text(max_size=30) | st.lists(st.sampled_from(" ".join(LINES).split()), max_size=20).map(" ".join)
FILTERS = FilterConfig(max_tokens=40, max_ratio=6.0, drop_duplicates=True)


def write_jsonl(path: Path, pairs: list[tuple[str, str]]) -> None:
    path.write_text("".join(json.dumps({"source": s, "target": t}) + "\n" for s, t in pairs))


@given(
    st.lists(st.tuples(texts, texts), min_size=1, max_size=40),
    st.integers(8, 300),
    st.sampled_from([None, 0.1, 0.6]),
    st.sampled_from([1.0, 2.0, 1.5]),
)
@settings(max_examples=60)
def test_every_pair_that_stays_is_in_every_epoch_as_often_as_its_weight_says(
    pairs: list[tuple[str, str]], batch_tokens: int, rate: float | None, weight: float
) -> None:
    pair_filter = PairFilter(FILTERS)
    kept = [
        (TOKENIZER.normalize(source), TOKENIZER.normalize(target))
        for source, target in pairs
        if not pair_filter.reason_against(
            source, target, len(TOKENIZER.encode_source(source)), len(TOKENIZER.encode_target(target))
        )
    ]
    if not kept:
        return
    with tempfile.TemporaryDirectory() as folder:
        write_jsonl(Path(folder) / "pairs.jsonl", pairs)
        corpus = JsonlCorpus(kind="jsonl", path=f"{folder}/pairs.jsonl")
        data = DataConfig(train=[corpus], validation=[corpus], filters=FILTERS)
        dropout = None if rate is None else SubwordDropout(rate, 1)
        store = prepare_store(data, TOKENIZER, dropout=dropout, cache=Path(folder))
        settings_ = {"batch_tokens": batch_tokens, "seed": 3, "bos_id": 1, "pad_id": 0, "max_tokens": 40}
        stream = BatchStream(store, weights=[weight], **settings_)
        for epoch in range(2):
            first = sum(stream.num_batches(earlier) for earlier in range(epoch))
            seen: Counter[int] = Counter()
            for position in range(first, first + stream.num_batches(epoch)):
                batch = stream.batch_at(position)
                again = BatchStream(store, weights=[weight], **settings_).batch_at(position)
                assert torch.equal(batch.source_ids, again.source_ids)
                assert torch.equal(batch.target_input_ids, again.target_input_ids)
                assert len(batch) == 1 or max(batch.source_ids.numel(), batch.target_output_ids.numel()) <= batch_tokens
                seen.update(batch.example_ids.tolist())
                for row, example in enumerate(batch.example_ids.tolist()):
                    source, target = batch.source_ids[row].tolist(), batch.target_output_ids[row].tolist()
                    assert (TOKENIZER.decode_source(source), TOKENIZER.decode_target(target)) == kept[example]
            counts = [seen[number] for number in range(len(kept))]
            assert abs(sum(counts) - weight * len(kept)) < 1
            assert min(counts) >= int(weight)
