from heedful.config.data import JsonlCorpus, LineCorpus, TsvCorpus
from heedful.config.load import dump_toml, parse_config

CONFIG = """
name = "x"
[data]
source_language = "en"
target_language = "de"
bidirectional = true
train = [
    { source = "a.en", target = "a.de", weight = 2.0 },
    { kind = "tsv", path = "b.tsv", source_column = 1, target_column = 3, target_language = "zh" },
    { kind = "jsonl", path = "c.jsonl", source_key = "left", source_language = "fr" },
]
validation = [{ source = "v.en", target = "v.de" }]
test = { news = { source = "t.en", target = "t.de" } }
"""


def test_every_corpus_counts_once_more_with_its_sides_exchanged() -> None:
    data = parse_config(CONFIG).data
    assert data.train[3:] == [
        LineCorpus(source="a.de", target="a.en", weight=2.0, source_language="de", target_language="en"),
        TsvCorpus(
            kind="tsv",
            path="b.tsv",
            source_column=3,
            target_column=1,
            source_language="zh",
            target_language="en",
        ),
        JsonlCorpus(
            kind="jsonl",
            path="c.jsonl",
            source_key="target",
            target_key="left",
            source_language="de",
            target_language="fr",
        ),
    ]
    assert [corpus.source for corpus in data.validation] == ["v.en", "v.de"]
    assert {name: corpus.source for name, corpus in data.test.items()} == {"news": "t.en", "news_reversed": "t.de"}


def test_what_was_written_out_is_not_exchanged_again() -> None:
    config = parse_config(CONFIG)
    assert not config.data.bidirectional
    assert parse_config(dump_toml(config)) == config


def test_one_way_stays_one_way() -> None:
    data = parse_config(CONFIG.replace("bidirectional = true", "")).data
    assert len(data.train) == 3
    assert list(data.test) == ["news"]
