"""`heedful train` for translation: from corpora to a model folder, as one page of wiring.

Reads the corpora, learns the tokenizer and fills the token store; the rest is tasks/runs.py.
"""

from functools import partial
from pathlib import Path

import torch

from heedful.config.training import NoRegularizer
from heedful.config.translation import RunConfig
from heedful.data.batch import Batch
from heedful.data.file_identity import FileIdentities
from heedful.models.build import build_model
from heedful.models.interfaces import EncoderDecoder
from heedful.nn.layers import DecoderLayer, EncoderLayer
from heedful.storage.locate import find_model_folder
from heedful.storage.model_folder import ModelFolder, SpecialIds, load_model_folder, model_card, save_model_folder
from heedful.tasks.run_folder import Say, TrainingResult
from heedful.tasks.runs import Shipment, Trainee, check_same_shape, run_training
from heedful.tasks.translation.data import TrainingData, direction_of, prepare_data
from heedful.tasks.translation.learned_text import LEARNED_TEXT
from heedful.tasks.translation.validate import Validator
from heedful.text.tokenizer import Tokenizer
from heedful.training.display import Display
from heedful.training.loop import TrainingTask
from heedful.training.losses.sequence import sequence_loss


def train_translation(
    config: RunConfig, *, display: Display, resume: bool = False, device: str | None = None
) -> TrainingResult:
    """Train as `config` says and return where the model is. `resume` goes on with the run of the same name."""
    identities = FileIdentities()  # shared: the token store is named by what the corpora are
    return run_training(
        config, partial(_prepare, config, identities), identities, display=display, resume=resume, device=device
    )


def _prepare(
    config: RunConfig, identities: FileIdentities, folder: Path, device: torch.device, say: Say
) -> Trainee[Batch]:
    data = prepare_data(config, folder, identities=identities, pin_memory=device.type == "cuda", say=say)
    return Trainee(
        model=_new_model(config, data.tokenizer),
        tokenizer_json=data.tokenizer.to_json(),
        identity={"tokenizer_sha256": data.tokenizer.fingerprint},
        compiled=(EncoderLayer, DecoderLayer),
        task=lambda _: _task(config, data),
        facts={
            "training pairs": data.num_pairs,
            "decoding": config.decoding.model_dump(mode="json"),
            LEARNED_TEXT: data.learned_text,
        },
        save=partial(_save, config, data.tokenizer),
        load=load_model_folder,
    )


def _new_model(config: RunConfig, tokenizer: Tokenizer) -> EncoderDecoder:
    model = build_model(
        config.model,
        source_vocab_size=tokenizer.source_vocab_size,
        target_vocab_size=tokenizer.target_vocab_size,
        pad_id=tokenizer.pad_id,
        generator=torch.Generator().manual_seed(config.seed),
    )
    if config.training.init_from is not None:
        folder = load_model_folder(find_model_folder(config.training.init_from))
        check_same_shape(config.model, folder.model)
        model.load_state_dict(folder.weights, strict=False)  # a shared matrix is stored under its first name only
    return model


def _task(config: RunConfig, data: TrainingData) -> TrainingTask[Batch]:
    smoothing, regularizer = config.training.label_smoothing, config.training.regularizer
    return TrainingTask(
        data.batches_from,
        sequence_loss(label_smoothing=smoothing, regularizer=regularizer),
        Validator(config, data.tokenizer, data.validation),
        early_loss=sequence_loss(label_smoothing=smoothing, regularizer=NoRegularizer()),
        early_steps=regularizer.after_steps,
    )


def _save(config: RunConfig, tokenizer: Tokenizer, destination: Path, shipment: Shipment) -> None:
    save_model_folder(
        destination,
        ModelFolder(
            model=config.model,
            weights=shipment.weights,
            tokenizer_json=tokenizer.to_json(),
            special_ids=SpecialIds(
                pad=tokenizer.pad_id, bos=tokenizer.bos_id, eos=tokenizer.eos_id, unk=tokenizer.unk_id
            ),
            source_vocab_size=tokenizer.source_vocab_size,
            target_vocab_size=tokenizer.target_vocab_size,
            source_language=config.data.source_language,
            target_language=config.data.target_language,
            languages=tokenizer.languages,
            directions=tuple(dict.fromkeys(direction_of(corpus, config.data) for corpus in config.data.train)),
            decoding=config.decoding,
            card=model_card(
                name=config.name,
                family=config.model.family,
                source_language=config.data.source_language,
                target_languages=tokenizer.languages or (config.data.target_language,),
                num_parameters=shipment.num_parameters,
                facts=shipment.summary,
            ),
            facts=shipment.facts,
        ),
    )
