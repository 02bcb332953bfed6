"""Other people's formats, in and out."""

from heedful.interop.ctranslate2 import build_spec, export_ctranslate2
from heedful.interop.huggingface import export_huggingface
from heedful.interop.marian import import_marian

__all__ = ["build_spec", "export_ctranslate2", "export_huggingface", "import_marian"]
