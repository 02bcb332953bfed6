import pytest
import torch

from heedful.config.model import TransformerConfig
from heedful.decoding import search
from heedful.decoding.forced import score_outputs
from heedful.models.build import build_model

BOS, EOS = 1, 2


@pytest.fixture(scope="module")
def model():
    shape = TransformerConfig(dim=32, num_heads=2, hidden_dim=64, num_encoder_layers=1, num_decoder_layers=2)
    generator = torch.Generator().manual_seed(5)
    return build_model(shape, source_vocab_size=40, target_vocab_size=40, pad_id=0, generator=generator).eval()


@pytest.fixture(scope="module")
def source() -> torch.Tensor:
    ids = torch.randint(4, 40, (3, 7), generator=torch.Generator().manual_seed(1))
    ids[1, 4:] = 0
    return ids


def test_given_outputs_have_the_probability_that_a_forward_pass_gives_them(model, source):
    outputs = [[7, 9, 5, 11], [], [30]]
    found = score_outputs(model, source, source != 0, outputs, bos_id=BOS, eos_id=EOS)
    for row, output in enumerate(outputs):
        inputs, wanted = torch.tensor([[BOS, *output]]), [*output, EOS]
        with torch.no_grad():
            log_probs = model(source[row : row + 1], source[row : row + 1] != 0, inputs).log_softmax(-1)[0]
        expected = [log_probs[place, token].item() for place, token in enumerate(wanted)]
        assert found[row] == pytest.approx(expected, abs=1e-5)


def test_what_a_search_found_has_the_probability_it_was_found_with(model, source):
    hypotheses = search(model, source, source != 0, bos_id=BOS, eos_id=EOS, max_lengths=[12] * 3, beam_size=3, n_best=1)
    outputs = [best.token_ids for [best] in hypotheses]
    found = score_outputs(model, source, source != 0, outputs, bos_id=BOS, eos_id=EOS)
    for [best], scores in zip(hypotheses, found, strict=True):
        assert len(best.token_log_probs) > 5
        assert scores[: len(best.token_log_probs)] == pytest.approx(best.token_log_probs, abs=1e-5)


def test_no_outputs_need_no_model(model, source):
    assert score_outputs(model, source[:0], source[:0] != 0, [], bos_id=BOS, eos_id=EOS) == []
