"""Write the golden files of `test_huggingface_transfo_xl.py`: small models of another implementation and what they say.

Transformer-XL was part of Hugging Face's transformers until 4.35. That release is not installed beside ours; this
script is run by hand in an environment that has it, and its output is committed:

    pip install --target OLD --no-deps transformers==4.35.2 "tokenizers<0.19" "huggingface-hub<1.0" requests filelock
    PYTHONPATH=OLD python tests/parity/golden/make_transfo_xl.py
"""

from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import TransfoXLConfig, TransfoXLLMHeadModel  # type: ignore[attr-defined]

HERE = Path(__file__).parent
VOCAB, BATCH, SEGMENT, MEMORY = 13, 2, 5, 4
CASES = {
    "tied_biases": {"untie_r": False, "clamp_len": -1},
    "own_biases_clamped": {"untie_r": True, "clamp_len": 3},
}


def make(name: str, settings: dict[str, object]) -> None:
    """Let one model with random weights read two segments, and keep all of it."""
    torch.manual_seed(5)
    config = TransfoXLConfig(
        vocab_size=VOCAB,
        cutoffs=[],
        d_model=16,
        d_embed=16,
        n_head=2,
        d_head=8,
        d_inner=24,
        n_layer=3,
        mem_len=MEMORY,
        dropout=0.0,
        dropatt=0.0,
        div_val=1,
        adaptive=False,
        same_length=False,
        attn_type=0,
        **settings,
    )
    model = TransfoXLLMHeadModel(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.3)  # far from where training begins: every term counts
    tokens = torch.randint(VOCAB, (BATCH, 2 * SEGMENT))
    tensors = {f"weights/{key}": value.clone() for key, value in model.state_dict().items()}
    tensors["token_ids"] = tokens
    memory = None
    for number, part in enumerate(tokens.split(SEGMENT, dim=1)):
        with torch.no_grad():
            # At first this implementation remembers zeros, and looks at them.
            states = model.transformer(part, mems=memory)
            output = model(part, mems=memory)
        memory = output.mems
        tensors[f"hidden/{number}"] = states.last_hidden_state.clone()
        tensors[f"log_probs/{number}"] = output.prediction_scores.clone()
        # [layers + 1, memory_len, batch, dim]
        tensors[f"memory/{number}"] = torch.stack([layer.clone() for layer in memory])
    save_file({key: value.contiguous() for key, value in tensors.items()}, HERE / f"transfo_xl_{name}.safetensors")


if __name__ == "__main__":
    for case, settings in CASES.items():
        make(case, settings)
