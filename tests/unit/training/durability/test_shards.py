"""What several ranks have written is the tensor they have cut up, for any other number of ranks that reads it."""

from pathlib import Path

import pytest
import torch

from heedful.training.durability.shards import read_shards, shard_bytes, shard_files, shard_name


def write(folder: Path, world: int) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    whole = {
        "matrix": torch.randn(7, 3, generator=generator),
        "vector": torch.randn(2, generator=generator),
        "memory": torch.randn(2, 5, 4, generator=generator),
        "count": torch.tensor(12.0),
    }
    for rank in range(world):
        held: dict[str, torch.Tensor] = {}
        for name, tensor in whole.items():
            if not tensor.ndim:
                held |= {name: tensor} if rank == 0 else {}
                continue
            dimension = 1 if name == "memory" else 0
            size = -(-tensor.size(dimension) // world)
            start = min(rank * size, tensor.size(dimension))
            end = min(start + size, tensor.size(dimension))
            held[name] = tensor.narrow(dimension, start, end - start).contiguous()
        (folder / shard_name("model.safetensors", rank, world)).write_bytes(shard_bytes(held, {"memory": 1}))
    return whole


@pytest.mark.parametrize("world", [1, 2, 4, 5])
def test_joined_the_shards_are_the_whole(tmp_path: Path, world: int) -> None:
    whole = write(tmp_path, world)
    assert len(shard_files(tmp_path, "model.safetensors")) == world
    read = read_shards(tmp_path, "model.safetensors")
    assert read.keys() == whole.keys()
    assert all(torch.equal(read[name], tensor) for name, tensor in whole.items())


@pytest.mark.parametrize("readers", [1, 2, 3])
@pytest.mark.parametrize("world", [1, 2, 4])
def test_another_number_of_ranks_reads_its_own_rows(tmp_path: Path, world: int, readers: int) -> None:
    whole = write(tmp_path, world)
    del whole["memory"]
    parts = []
    for reader in range(readers):

        def rows(num_rows: int, reader: int = reader) -> tuple[int, int]:
            size = -(-num_rows // readers)
            return min(num_rows, reader * size), min(num_rows, (reader + 1) * size)

        parts.append(read_shards(tmp_path, "model.safetensors", rows))
    assert torch.equal(torch.cat([part["matrix"] for part in parts]), whole["matrix"])
    assert torch.equal(torch.cat([part["vector"] for part in parts]), whole["vector"])
    assert all(torch.equal(part["count"], whole["count"]) for part in parts)


def test_a_name_says_whose_part_it_is(tmp_path: Path) -> None:
    assert shard_name("model.safetensors", 1, 4) == "model.1-of-4.safetensors"
    assert shard_name("model.safetensors", 0, 1) == "model.safetensors"
    with pytest.raises(FileNotFoundError):
        read_shards(tmp_path, "model.safetensors")
