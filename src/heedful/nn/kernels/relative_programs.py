# ruff: noqa: N803 (what Triton knows at compile time is written in capitals)
"""What runs on the GPU for relative_kernel.py: attention with scores by distance, and its two passes back.

A program holds a tile of queries and walks over the keys, or a tile of keys and walks over the queries. Most tiles it
meets are seen whole; only those on the diagonal, where a query must not see a later key, are masked one by one: every
loop is therefore written once and run twice. Exponentials are powers of two, as the GPU has them.
"""

import triton
import triton.language as tl

_LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def _at(side, sentence, head, place, features, batch_stride, head_stride, token_stride):  # type: ignore[no-untyped-def]
    """Return where the features of a head lie for each place of a sentence."""
    return side + sentence * batch_stride + head * head_stride + place[:, None] * token_stride + features[None, :]


@triton.jit
def _hidden(j, sentence, is_real, key_len):  # type: ignore[no-untyped-def]
    """Return what is added to the scores of keys j: nothing, or minus infinity where there is no key."""
    real = tl.load(is_real + sentence * key_len + j)
    return tl.where(real != 0, 0.0, -float("inf"))


@triton.jit  # type: ignore[untyped-decorator]
def _first_score(i, sentence, head, batch, query_len, width, PLANES: tl.constexpr):  # type: ignore[no-untyped-def]
    """Say in which column, and where at all, the score of key 0 would stand for each query i: multiples of eight."""
    row = ((head * PLANES + i % PLANES) * batch + sentence) * (query_len // PLANES) + i // PLANES
    column = query_len - (i + 1) // PLANES * PLANES
    return column, tl.multiple_of(row * width + column, [PLANES])


@triton.jit
def _clear(grads, first, column, j, width):  # type: ignore[no-untyped-def]
    """Write zeros to the columns of places j, as far as there are such columns."""
    inside = (column[:, None] + j[None, :] >= 0) & (column[:, None] + j[None, :] < width)
    tl.store(grads + (first[:, None] + j[None, :]), 0.0, mask=inside)


@triton.jit
def _scores_of(q, k, j, hidden, scores, first, scale):  # type: ignore[no-untyped-def]
    """Compute the scores of a tile, the first of each row's keys being at `first`."""
    by_distance = tl.load(scores + (first[:, None] + j[None, :])).to(tl.float32)
    return tl.dot(q, tl.trans(k), input_precision="ieee") * scale + (by_distance + hidden[None, :])


@triton.jit
def _without_future(tile, i, j, query_len, key_len):  # type: ignore[no-untyped-def]
    """Hide from each query the keys after its own position."""
    return tl.where(j[None, :] <= (key_len - query_len + i)[:, None], tile, -float("inf"))


@triton.jit  # type: ignore[untyped-decorator]
def forward(  # type: ignore[no-untyped-def]
    query,
    key,
    value,
    scores,
    is_real,
    averages,
    normalizers,
    query_batch,
    query_head,
    query_token,
    key_batch,
    key_head,
    key_token,
    value_batch,
    value_head,
    value_token,
    batch,
    heads,
    query_len,
    key_len,
    width,
    scale,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    DIM: tl.constexpr,
    PLANES: tl.constexpr,
):
    """Average the values for a tile of queries; the normalizers are logarithms to the base of two."""
    sentence, head = tl.program_id(1).to(tl.int64) // heads, tl.program_id(1) % heads
    i, features = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, DIM)
    _, first = _first_score(i, sentence, head, batch, query_len, width, PLANES)
    q = tl.load(_at(query, sentence, head, i, features, query_batch, query_head, query_token))
    highest = tl.full([ROWS], -float("inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    found = tl.zeros([ROWS, DIM], tl.float32)
    before = key_len - query_len + tl.program_id(0) * ROWS  # keys that all of these queries see
    for masked in tl.static_range(2):
        begin = before // COLUMNS * COLUMNS if masked else 0
        end = before + ROWS if masked else before // COLUMNS * COLUMNS
        for start in range(begin, end, COLUMNS):
            j = start + tl.arange(0, COLUMNS)
            at_key = _at(key, sentence, head, j, features, key_batch, key_head, key_token)
            at_value = _at(value, sentence, head, j, features, value_batch, value_head, value_token)
            k = tl.load(at_key)
            v = tl.load(at_value)
            tile = _scores_of(q, k, j, _hidden(j, sentence, is_real, key_len), scores, first, scale)
            if masked:
                tile = _without_future(tile, i, j, query_len, key_len)
            above = tl.maximum(highest, tl.max(tile, axis=1) * _LOG2_E)
            # Where nothing has been seen yet the highest is -inf, and the difference of two would be no number.
            finite = tl.where(above == -float("inf"), 0.0, above)
            weights = tl.exp2(tile * _LOG2_E - finite[:, None])
            shrink = tl.exp2(highest - finite)
            total = total * shrink + tl.sum(weights, axis=1)
            found = found * shrink[:, None] + tl.dot(weights.to(v.dtype), v, input_precision="ieee")
            highest = above
    total = tl.where(total == 0.0, 1.0, total)
    of_query = ((sentence * query_len + i[:, None]) * heads + head) * DIM + features[None, :]
    found = found / total[:, None]
    tl.store(averages + of_query, found.to(averages.dtype.element_ty))
    at_normalizer = normalizers + (sentence * heads + head) * query_len + i
    tl.store(at_normalizer, tl.where(highest == -float("inf"), 0.0, highest) + tl.log2(total))


@triton.jit  # type: ignore[untyped-decorator]
def backward_queries(  # type: ignore[no-untyped-def]
    query,
    key,
    value,
    scores,
    is_real,
    grad,
    normalizers,
    overlap,
    averages,
    query_grad,
    scores_grad,
    query_batch,
    query_head,
    query_token,
    key_batch,
    key_head,
    key_token,
    value_batch,
    value_head,
    value_token,
    batch,
    heads,
    query_len,
    key_len,
    width,
    scale,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    DIM: tl.constexpr,
    PLANES: tl.constexpr,
):
    """Write the gradients of a tile of queries and of their scores, and `overlap`, which `backward_keys` reads."""
    sentence, head = tl.program_id(1).to(tl.int64) // heads, tl.program_id(1) % heads
    i, features = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, DIM)
    column, first = _first_score(i, sentence, head, batch, query_len, width, PLANES)
    at_query = _at(query, sentence, head, i, features, query_batch, query_head, query_token)
    of_query = ((sentence * query_len + i[:, None]) * heads + head) * DIM + features[None, :]
    q = tl.load(at_query)
    g = tl.load(grad + of_query)
    of_row = (sentence * heads + head) * query_len + i
    normalizer = tl.load(normalizers + of_row)
    shared = tl.sum(g.to(tl.float32) * tl.load(averages + of_query).to(tl.float32), axis=1)
    tl.store(overlap + of_row, shared)
    gathered = tl.zeros([ROWS, DIM], tl.float32)
    # Distances that no key has: before the first of the keys, where most tiles are whole, and after the last visited.
    places = tl.arange(0, COLUMNS)
    missing, before = query_len - tl.program_id(0) * ROWS, key_len - query_len + tl.program_id(0) * ROWS
    _clear(scores_grad, first, column, places - missing, width)
    for start in range(COLUMNS, missing, COLUMNS):
        tl.store(scores_grad + (first[:, None] + (places - missing + start)[None, :]), 0.0)
    for start in range(before + ROWS, before + 2 * ROWS + COLUMNS + PLANES, COLUMNS):
        _clear(scores_grad, first, column, places + start, width)
    for masked in tl.static_range(2):
        begin = before // COLUMNS * COLUMNS if masked else 0
        end = before + ROWS if masked else before // COLUMNS * COLUMNS
        for start in range(begin, end, COLUMNS):
            j = start + places
            at_key = _at(key, sentence, head, j, features, key_batch, key_head, key_token)
            at_value = _at(value, sentence, head, j, features, value_batch, value_head, value_token)
            k = tl.load(at_key)
            v = tl.load(at_value)
            tile = _scores_of(q, k, j, _hidden(j, sentence, is_real, key_len), scores, first, scale)
            if masked:
                tile = _without_future(tile, i, j, query_len, key_len)
            weights = tl.exp2(tile * _LOG2_E - normalizer[:, None])
            wanted = tl.dot(g, tl.trans(v), input_precision="ieee")
            tile_grad = (weights * (wanted - shared[:, None])).to(k.dtype)
            tl.store(scores_grad + (first[:, None] + j[None, :]), tile_grad)
            gathered += tl.dot(tile_grad, k, input_precision="ieee")
    tl.store(query_grad + of_query, (gathered * scale).to(query_grad.dtype.element_ty))


@triton.jit  # type: ignore[untyped-decorator]
def backward_keys(  # type: ignore[no-untyped-def]
    query,
    key,
    value,
    scores,
    is_real,
    grad,
    normalizers,
    overlap,
    key_grad,
    value_grad,
    query_batch,
    query_head,
    query_token,
    key_batch,
    key_head,
    key_token,
    value_batch,
    value_head,
    value_token,
    batch,
    heads,
    query_len,
    key_len,
    width,
    scale,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    DIM: tl.constexpr,
    PLANES: tl.constexpr,
):
    """Write the gradients of a tile of keys and of their values."""
    sentence, head = tl.program_id(1).to(tl.int64) // heads, tl.program_id(1) % heads
    j, features = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS), tl.arange(0, DIM)
    at_key = _at(key, sentence, head, j, features, key_batch, key_head, key_token)
    at_value = _at(value, sentence, head, j, features, value_batch, value_head, value_token)
    of_key = ((sentence * key_len + j[:, None]) * heads + head) * DIM + features[None, :]
    k = tl.load(at_key)
    v = tl.load(at_value)
    hidden = _hidden(j, sentence, is_real, key_len)
    of_keys = tl.zeros([COLUMNS, DIM], tl.float32)
    of_values = tl.zeros([COLUMNS, DIM], tl.float32)
    # The first query that sees the first of these keys, those before it see none of them; and the first that sees all.
    own = tl.program_id(0) * COLUMNS - (key_len - query_len)
    some = tl.maximum(0, own) // ROWS * ROWS
    whole = tl.maximum(0, own + COLUMNS - 2 + ROWS) // ROWS * ROWS
    for masked in tl.static_range(2):
        begin = some if masked else whole
        end = tl.minimum(whole, query_len) if masked else query_len
        for start in range(begin, end, ROWS):
            i = start + tl.arange(0, ROWS)
            _, first = _first_score(i, sentence, head, batch, query_len, width, PLANES)
            at_query = _at(query, sentence, head, i, features, query_batch, query_head, query_token)
            of_query = ((sentence * query_len + i[:, None]) * heads + head) * DIM + features[None, :]
            q = tl.load(at_query)
            g = tl.load(grad + of_query)
            of_row = (sentence * heads + head) * query_len + i
            normalizer = tl.load(normalizers + of_row)
            shared = tl.load(overlap + of_row)
            tile = _scores_of(q, k, j, hidden, scores, first, scale)
            if masked:
                tile = _without_future(tile, i, j, query_len, key_len)
            weights = tl.exp2(tile * _LOG2_E - normalizer[:, None])
            of_values += tl.dot(tl.trans(weights).to(g.dtype), g, input_precision="ieee")
            wanted = tl.dot(g, tl.trans(v), input_precision="ieee")
            tile_grad = weights * (wanted - shared[:, None])
            of_keys += tl.dot(tl.trans(tile_grad).to(q.dtype), q, input_precision="ieee")
    tl.store(key_grad + of_key, (of_keys * scale).to(key_grad.dtype.element_ty))
    tl.store(value_grad + of_key, of_values.to(value_grad.dtype.element_ty))
