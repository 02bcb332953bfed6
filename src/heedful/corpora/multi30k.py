"""The files of Multi30k's first task: where each lies at its publisher, and what must be in it.

Multi30k is the repository multi30k/dataset on GitHub. A commit never changes, so each file is fetched at the commit
that brought it: the English training captions were corrected in some lines later, and the published results, ours
among them, are of the lines as they were first. The checksums are of the text, not of its compression.
"""

from heedful.corpora.archives import ContentPin

_REPOSITORY = "https://raw.githubusercontent.com/multi30k/dataset"
_RAW_COMMIT = "c9be912dc05a3ebf9ae5bb5f7f58c1791cda43ab"
_TOKENIZED_COMMIT = "7bee46bc74186b4b6254603143610f730d40bf66"
_CZECH_COMMIT = "97e85b0dfa1ebb401cb68a9fefa2eab90d8d5dfa"
_CZECH_VALIDATION_COMMIT = "ea6abd96a016eda24a5cc0d9caeb6ee1a0b35194"

# Length and sha256 of the text as it was written.
RAW = {
    "train.en": (1_801_238, "460a15fbd157e34a7a9957ee388c1ca247fe47af3ef25fb50442af6c274e0fc6"),
    "train.de": (2_110_398, "2c2b73fd2b548fbcde3a875e0a78d6ee94d498bfdee6bd3eae3945779e9ddf72"),
    "train.fr": (2_111_303, "5925a3c18f1587b6b54b87743106e6e8ab93618edb6f65d19eac0621f853a10d"),
    "train.cs": (1_755_283, "2be68b38c8d586ff4f54eb13cc6e1baaaa053695b3f070d3038303a47f2268da"),
    "val.en": (63_297, "1f2a23d992769b5b3d209b0a10dd0b77c08cceb1f20dfb97ed0aafa49d107227"),
    "val.de": (75_981, "660e09eb7e1da2f856ea13ee5ad3cf6d36b3d5b0b733c857e94c5747a3dfc660"),
    "val.fr": (73_924, "5304e444d842e962b2dda4d816b70b22a1765b15401642b7ca37a67477e708dc"),
    "val.cs": (60_213, "d53827e469b0a1ca8d57e9e26b2b64c4bc4b33f5479c7b03ae87ae5c882c3e33"),
    "test_2016_flickr.en": (62_076, "399a4382932c1aadd3ceb9bef1008d388a64c76d4ae4e9d4728c6f4301cac182"),
    "test_2016_flickr.de": (70_649, "4be6b5b3236b79c25475c6bb829800a7ce559e9ba7a1f6c2394fe4d40be46d16"),
    "test_2016_flickr.fr": (72_261, "cb3160d69b002bb638e66cc7612fcd56cb0af82eadc9c142dedc438afb885ef6"),
    "test_2016_flickr.cs": (62_364, "45adb85f688de8407fddcbe1b36dca15d12aab868149b337e2576f2d6d2ff8d8"),
    "test_2017_flickr.en": (55_242, "ce1450ddc5ab0834502579d77a170849952e15a2938b34cc503bdc25ebb4fb98"),
    "test_2017_flickr.de": (64_059, "c3078bc3b36808bf9d20eb2347ed6137016179ef59ec0d2b9b8ecc3fb2880081"),
    "test_2017_flickr.fr": (65_691, "6f3764e31dac41e9455e612958bcfd4e877c5e15cd66df2c2b2be6d9bd83e5b6"),
    "test_2017_mscoco.en": (24_949, "43051fdfa86fd5395182e718a94ca67b1b227b9f7c79596ff0f6b813216981d2"),
    "test_2017_mscoco.de": (29_906, "58277df3c75f92f7145a11b910b553d1cf82c439249d4dc237c899609eafac22"),
    "test_2017_mscoco.fr": (29_982, "39cde3f43f32b0a6bf29ce4917a46329ff32e53070c2fac87506695a740ae0a0"),
}

# The same, lower-cased, punctuation normalised, tokenised with Moses.
TOKENIZED = {
    "train.en": (1_837_696, "08925f8e0572bcd5a006702fc5fe20e2d77c6917d4eebd576fc20de6693c2119"),
    "train.de": (2_150_008, "cb5a23529b65ec2061f1dc446192a9c37382b63cc75f81a0be59d34894b3a505"),
    "train.fr": (2_235_588, "8fa41bb718412bcb7c5dfa58603842810a01543eae86a51279f9886b901266e1"),
    "train.cs": (1_791_955, "7645fb91efa18f94c83d493f740a5d5a941e4b01efa6a124bf2d4af040e133e0"),
    "val.en": (64_608, "46573ce391ae227f1c72f873392436a20ef18e0a6d518098cfbd70b77c8572ec"),
    "val.de": (77_273, "97232bd273eceb7207f689527386a97e4be2616b18ada47576bdaf96c8ae1f00"),
    "val.fr": (78_242, "b303e301aa21fe7822a846b2b3fb2d5a1121ec807cd5b1d006fb7b2b5507168a"),
    "val.cs": (61_492, "b87ee4917f4a0f9ca6cca03e402026c9f4437dc1bd6a7dadfd2544ecfb6c5501"),
    "test_2016_flickr.en": (63_307, "5b7f32627cf99eced828311b955dae9800bb52bc8b91cf8b6526829e605b29d2"),
    "test_2016_flickr.de": (71_917, "c6a33d39d48f9f510de147651316cd9d918e09ad0219df734a2f16b6baccacc4"),
    "test_2016_flickr.fr": (76_394, "1463bd5960f9bfe098ec3cd752d3df0c49c84dc646fb518964a29232658cd836"),
    "test_2016_flickr.cs": (63_566, "748c8816de928732365176e5c5d2f9bbabcec9b8d4448fba2d230feb057898a7"),
    "test_2017_flickr.en": (56_123, "c9d1dfd7a26add989382e534af235af9f0f658b2a30e7eb0efdaf142496ee54f"),
    "test_2017_flickr.de": (65_228, "02067e4a9402786a4fcb8c1b6f4307e4a5073ced64800abead5273b54f5f31f6"),
    "test_2017_flickr.fr": (69_537, "c0583117a47b31e8a6c6a97cfe8de153e462074668f4e994764fcc80b21d33b4"),
    "test_2017_mscoco.en": (25_380, "fe69ae004d71c42ead0301e70c57de5b1b6b5fb7f52210d42b22801e98e656f3"),
    "test_2017_mscoco.de": (30_464, "e2825990b8a4e5289d2cdba801d57c187810bab9b4f5d87a30c35800a0d871b6"),
    "test_2017_mscoco.fr": (31_725, "0b6a4620f02b6b9acf7811fda23f90fed9c6baa0b96aa224db50a273078c84d1"),
}


def raw_file(name: str) -> tuple[str, ContentPin]:
    """Return the address and the content of a file of raw text, "train.en"."""
    return f"{_REPOSITORY}/{_commit(name, _RAW_COMMIT)}/data/task1/raw/{name}.gz", ContentPin(*RAW[name])


def tokenized_file(name: str) -> tuple[str, ContentPin]:
    """Return the address and the content of a file of tokenised text, "train.en"."""
    path = f"data/task1/tok/{tokenized_name(name)}"
    return f"{_REPOSITORY}/{_commit(name, _TOKENIZED_COMMIT)}/{path}", ContentPin(*TOKENIZED[name])


def tokenized_name(name: str) -> str:
    """Return how the publisher calls the tokenised "train.en"."""
    split, language = name.rsplit(".", 1)
    return f"{split}.lc.norm.tok.{language}"


def _commit(name: str, of_the_others: str) -> str:
    if name == "val.cs":
        return _CZECH_VALIDATION_COMMIT
    return _CZECH_COMMIT if name.endswith(".cs") else of_the_others
