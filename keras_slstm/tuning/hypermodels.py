"""Hypermodels of classification, tagging and pairs: the space, the model and the training data of each task."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import keras

from keras_slstm.datasets.corpus import Corpus
from keras_slstm.datasets.pair_corpus import PairCorpus
from keras_slstm.datasets.tagged_corpus import TaggedCorpus
from keras_slstm.extras import require
from keras_slstm.models.development_score import DevelopmentScore
from keras_slstm.models.sentence_classifier import SentenceClassifier
from keras_slstm.models.sentence_pair_classifier import SentencePairClassifier
from keras_slstm.models.sequence_tagger import SequenceTagger
from keras_slstm.text.batches import Batches
from keras_slstm.text.word_vectors import WordVectors
from keras_slstm.training.fingerprint import fingerprint
from keras_slstm.training.optimizers import make_optimizer
from keras_slstm.tuning.restricted_space import RestrictedHyperParameters
from keras_slstm.tuning.spaces import classification_space, pair_space, tagging_space

keras_tuner = require("keras_tuner", "tuner")
HyperModel: Any = keras_tuner.HyperModel


class TaskHyperModel(HyperModel):
    """Base class of the hypermodels for classification, tagging and pairs.

    A hypermodel holds only the training and development examples, so no search can see the test set. It can be pickled,
    so a trial can run in its own process. It works with keras-tuner's tuners as well as with `Search`. For a model of
    your own, subclass it and define `space`, `make_model`, `data` and `texts`.

    Args:
        corpus: The examples. Its test part is not kept.
        encoders: Encoders to choose from, names in `SPACES`; the first is the default.
        values, only, rows: Restrict the space; see `RestrictedHyperParameters`.
        vectors: Pretrained word vectors. None: word vectors start at random.
        objective: The metric to optimise, one of `objectives`. None: the first.
        options: Further arguments of the model, such as `{"vectorizer": {"lowercase": False}}`. The search does not
            vary them.
        jit_compile: Whether to compile with XLA. None: on JAX only, because compiling takes seconds for every length of
            sentence and pays off only in long training runs.

    Raises:
        ValueError: If an encoder, the objective, or a hyperparameter in `values` or `rows` does not exist.

    Example:

    ```python
    corpus = keras_slstm.datasets.load_corpus("travel_desk")
    hypermodel = ClassificationHyperModel(corpus, ["slstm", "bilstm"], values={"units": [50, 100]})
    model = hypermodel.build(keras_tuner.HyperParameters())  # all hyperparameters at their defaults
    ```
    """

    objectives: tuple[str, ...] = ("val_accuracy", "val_loss")  # metrics in Keras' logs

    def __init__(
        self,
        corpus: Any,
        encoders: Sequence[str] = ("slstm",),
        values: Mapping[str, Sequence[Any]] | None = None,
        only: bool = False,
        rows: Mapping[str, Mapping[str, Any]] | None = None,
        vectors: WordVectors | None = None,
        objective: str | None = None,
        options: Mapping[str, Any] | None = None,
        jit_compile: bool | None = None,
    ):
        super().__init__(tunable=True)
        self.objective = self.objectives[0] if objective is None else objective
        if self.objective not in self.objectives:
            raise ValueError(f"`objective` must be one of {self.objectives}, but got {objective!r}.")
        self.direction = "min" if self.objective == "val_loss" else "max"
        self.train = corpus.train
        self.validation = corpus.validation
        self.label_names = list(corpus.label_names)
        self.encoders = list(encoders)
        self.restriction: dict[str, Any] = {"values": dict(values or {}), "only": only, "rows": dict(rows or {})}
        self.vectors = vectors
        self.options = dict(options or {})
        self.jit_compile = keras.backend.backend() == "jax" if jit_compile is None else jit_compile
        restricted = RestrictedHyperParameters(keras_tuner.HyperParameters(), **self.restriction)
        self.space(restricted)
        if restricted.unused:
            names = ", ".join(sorted({p.name for p in restricted.hp.space} | restricted.in_rows - restricted.unused))
            raise ValueError(
                f"Unknown hyperparameter {sorted(restricted.unused)[0]!r}. Known hyperparameters: {names}."
            )

    @abstractmethod
    def space(self, hp: Any) -> dict[str, Any]:
        """Declare all hyperparameters on `hp`, and return the settings."""

    @abstractmethod
    def make_model(self, settings: dict[str, Any]) -> Any:
        """Make the model, without its vocabulary."""

    @abstractmethod
    def data(self, model: Any, batches: Batches, settings: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of `model.fit` that concern the data."""

    @abstractmethod
    def texts(self) -> Iterable[Any]:
        """Return the training texts, from which the model learns its vocabulary."""

    def settings(self, hp: Any) -> dict[str, Any]:
        """Return the settings for the values in `hp`."""
        return self.space(RestrictedHyperParameters(hp, **self.restriction))

    def declare_hyperparameters(self, hp: Any) -> None:
        """Declare all hyperparameters, without building a model."""
        self.settings(hp)

    def build(self, hp: Any) -> Any:
        """Build and compile the model for the values in `hp`, with its vocabulary and weights."""
        settings = self.settings(hp)
        model = self.make_model(settings)
        model.adapt(self.texts(), self.vectors)
        rate = keras.optimizers.schedules.ExponentialDecay(
            settings["learning_rate"],
            decay_steps=-(-len(self.train) // settings["batch_size"]),
            decay_rate=settings["decay"],
            staircase=True,
        )
        name, multiplier = settings.get("optimizer", "adam"), settings.get("recurrent_multiplier", 1.0)
        optimizer = make_optimizer(name, rate, multiplier, global_clipnorm=settings["clip"])
        model.compile(optimizer, jit_compile=self.jit_compile, **self.compile_options())
        return model

    def compile_options(self) -> dict[str, Any]:
        """Return further arguments of `compile`."""
        return {}

    def fit_options(self, hp: Any, model: Any, seed: int = 0) -> dict[str, Any]:
        """Return the arguments of `fit`: the batches, and validation data or callbacks."""
        settings = self.settings(hp)
        examples = self.batches_of(model, batch_size=settings["batch_size"], seed=seed)
        return self.data(model, examples, settings)

    def batches_of(self, model: Any, **options: Any) -> Batches:
        """Return the training examples in batches."""
        return model.batches(self.texts(), self.train.labels, **options)

    def fit(self, hp: Any, model: Any, *args: Any, **kwargs: Any) -> keras.callbacks.History:
        """Train the model for a tuner of keras-tuner, which passes all arguments of `model.fit` except the data."""
        options = self.fit_options(hp, model)
        callbacks = [*options.pop("callbacks", ()), *kwargs.pop("callbacks", ())]
        return model.fit(*args, **options, callbacks=callbacks, **kwargs)

    def measure(self, model: Any, part: Any) -> float:
        """Compute the objective on other examples, such as the test set."""
        found = model.evaluate(part.texts, part.labels, return_dict=True, verbose=0)
        return float(found[self.objective.removeprefix("val_")])

    def description(self) -> dict[str, Any]:
        """Describe the space and the data as JSON values; a search resumes only if they are unchanged."""
        hp = keras_tuner.HyperParameters()
        self.declare_hyperparameters(hp)
        return {
            "task": type(self).__name__,
            "space": hp.get_config()["space"],
            "rows": self.restriction["rows"],
            "data": self.data_fingerprint(),
            "vectors": None if self.vectors is None else [len(self.vectors), self.vectors.dim],
            "options": {name: str(value) for name, value in sorted(self.options.items())},
        }

    def data_fingerprint(self) -> str:
        """Return a short hash of the training and development examples."""
        columns = [map(str, column) for part in (self.train, self.validation) for column in vars(part).values()]
        return fingerprint(*columns)

    def _embeddings(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of the word embedding, which all models take."""
        if self.vectors is None:
            return {"embedding_dim": settings["embedding_dim"]}
        return {"embedding_dim": self.vectors.dim, "trainable_embeddings": settings["trainable_embeddings"]}


class ClassificationHyperModel(TaskHyperModel):
    """Hypermodel of a `SentenceClassifier`; see `TaskHyperModel`."""

    def __init__(self, corpus: Corpus, encoders: Sequence[str] = ("slstm",), **kwargs: Any):
        super().__init__(corpus, encoders, **kwargs)

    def space(self, hp: Any) -> dict[str, Any]:
        return classification_space(hp, self.encoders, embeddings=self.vectors is None)

    def make_model(self, settings: dict[str, Any]) -> SentenceClassifier:
        return SentenceClassifier(
            self.label_names,
            **_encoder(settings),
            **_pooling_and_mlp(settings),
            **self._embeddings(settings),
            kernel_regularizer=keras.regularizers.L2(settings["l2"]),
            **self.options,
        )

    def texts(self) -> list[str]:
        return self.train.texts

    def compile_options(self) -> dict[str, Any]:
        return {"loss": "sparse_categorical_crossentropy", "metrics": ["accuracy"]}

    def data(self, model: Any, batches: Batches, settings: dict[str, Any]) -> dict[str, Any]:
        return _held_out(self.validation, batches, settings)


class PairHyperModel(TaskHyperModel):
    """Hypermodel of a `SentencePairClassifier`; see `TaskHyperModel`.

    The objectives are the accuracy (for pairs with scores, Pearson's correlation with them) and the loss. `features`,
    one of the `options`, chooses how the model combines the two sentence vectors.
    """

    def __init__(self, corpus: PairCorpus, encoders: Sequence[str] = ("bi_caslstm",), **kwargs: Any):
        self.score_range = corpus.score_range
        self.objectives = ("val_accuracy" if corpus.score_range is None else "val_pearson", "val_loss")
        super().__init__(corpus, encoders, **kwargs)

    def space(self, hp: Any) -> dict[str, Any]:
        return pair_space(hp, self.encoders, embeddings=self.vectors is None)

    def make_model(self, settings: dict[str, Any]) -> SentencePairClassifier:
        return SentencePairClassifier(
            self.label_names or None,
            score_range=self.score_range,
            **_encoder(settings),
            **_pooling_and_mlp(settings),
            mlp_batch_norm=settings["mlp_batch_norm"],
            **self._embeddings(settings),
            **self.options,
        )

    def texts(self) -> list[tuple[str, str]]:
        return self.train.texts

    def data(self, model: Any, batches: Batches, settings: dict[str, Any]) -> dict[str, Any]:
        return _held_out(self.validation, batches, settings)


class TaggingHyperModel(TaskHyperModel):
    """Hypermodel of a `SequenceTagger`; see `TaskHyperModel`.

    The objectives are the F1 score of the spans, unless the labels mark none, and the accuracy.
    """

    def __init__(self, corpus: TaggedCorpus, encoders: Sequence[str] = ("slstm",), **kwargs: Any):
        self.scheme = corpus.scheme
        self.objectives = ("val_accuracy",) if corpus.scheme is None else ("val_f1", "val_accuracy")
        super().__init__(corpus, encoders, **kwargs)

    def space(self, hp: Any) -> dict[str, Any]:
        return tagging_space(hp, self.encoders, embeddings=self.vectors is None)

    def make_model(self, settings: dict[str, Any]) -> SequenceTagger:
        none = settings["characters"] == "none"
        sizes = {name: settings[name] for name in ("character_dim", "character_units") if not none}
        return SequenceTagger(
            self.label_names,
            scheme=self.scheme,
            **_encoder(settings),
            head=settings["head"],
            head_options={"kernel_regularizer": keras.regularizers.L2(settings["l2"])},
            characters=None if none else settings["characters"],
            **sizes,
            **self._embeddings(settings),
            **self.options,
        )

    def texts(self) -> list[list[str]]:
        return self.train.tokens

    def batches_of(self, model: Any, **options: Any) -> Batches:
        return model.batches(self.train.tokens, self.train.tags, **options)

    def compile_options(self) -> dict[str, Any]:
        return {"metrics": []}  # metrics on the training part would decode every batch

    def data(self, model: Any, batches: Batches, settings: dict[str, Any]) -> dict[str, Any]:
        score = DevelopmentScore(self.validation.tokens, self.validation.tags)
        return {"x": batches, "callbacks": [score]}

    def measure(self, model: Any, part: Any) -> float:
        score, logs = DevelopmentScore(part.tokens, part.tags), dict[str, float]()
        score.set_model(model)
        score.on_epoch_end(0, logs)
        return logs[self.objective]


def _encoder(settings: dict[str, Any]) -> dict[str, Any]:
    names = ("encoder", "units", "encoder_options", "dropout", "word_dropout")
    return {name: settings[name] for name in names}


def _pooling_and_mlp(settings: dict[str, Any]) -> dict[str, Any]:
    return {
        "pooling": None if settings["pooling"] == "none" else settings["pooling"],
        "mlp_units": settings["mlp_units"],
        "mlp_dropout": settings["mlp_dropout"],
    }


def _held_out(part: Any, batches: Batches, settings: dict[str, Any]) -> dict[str, Any]:
    return {
        "x": batches,
        "validation_data": (part.texts, part.labels),
        "validation_batch_size": settings["batch_size"],
    }
