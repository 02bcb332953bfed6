"""Which device a job runs on."""

import torch

from heedful.errors import UserError


def choose_device(name: str | None) -> torch.device:
    """Return the device called `name`; None takes a GPU when there is one."""
    if name is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise UserError(f'The device must be cpu, cuda or cuda:N, but is "{name}".') from None
    if device.type not in ("cpu", "cuda"):
        raise UserError(f'The device must be cpu, cuda or cuda:N, but is "{name}".')
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        count = torch.cuda.device_count()
        raise UserError(f'The device "{name}" must be there, but PyTorch sees {count} GPUs. Leave the device out.')
    return device
