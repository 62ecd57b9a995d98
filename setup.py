"""Packaging of keras_slstm; everything that is not computed stands in pyproject.toml."""

from setuptools import setup

EXTRAS = {
    # tensorflow-addons ended with Python 3.11.
    "addons": [
        'tensorflow-addons==0.23.0; python_version < "3.12"',
        'tf-keras; python_version < "3.12"',
    ],
    # importlib_resources: tensorflow-datasets 4.9.10 imports it without asking for it.
    "datasets": ["tensorflow-datasets>=4.9.8", "array-record", "importlib_resources"],
    # keras-tuner imports tensorboard in every trial; its Bayesian oracle needs scikit-learn.
    "tuner": ["keras-tuner>=1.4.8", "tensorboard", "scikit-learn>=1.5"],
    "plots": ["matplotlib>=3.8"],
    "translation": ["tokenizers>=0.20", "sacrebleu>=2.4"],
    "jax": ["jax>=0.7"],
    "torch": ["torch>=2.6"],
    "examples": ["scikit-learn>=1.5", "seqeval"],
    # Packages that write and run the formats of `export` beside SavedModel.
    "export": ["tf2onnx>=1.17", "onnx", "onnxscript", "onnxruntime", "openvino", "ai-edge-litert"],
    "export-jax": ["jax2onnx>=0.17", "onnx", "onnxruntime"],  # ONNX from JAX
    "stream": ["array-record", "zstandard", "pyarrow>=15"],
    "mutation": ["cosmic-ray>=8.4", "coverage>=7.6"],
    "docs": ["sphinx>=8", "myst-nb>=1.2", "furo", "sphinx-copybutton", "sphinx-design", "latex2mathml"],
}
EXTRAS["examples"] += EXTRAS["datasets"] + EXTRAS["plots"] + EXTRAS["translation"]
EXTRAS["docs"] += EXTRAS["plots"] + EXTRAS["tuner"]  # which the notebooks use
EXTRAS["all"] = sorted({r for name in ("addons", "tuner", "examples", "stream") for r in EXTRAS[name]})
EXTRAS["test"] = sorted(
    {r for name in ("examples", "jax", "addons", "tuner", "export", "export-jax", "stream") for r in EXTRAS[name]}
    # With pytest 9.2, xdist 3.8 no longer sees its groups (pytest-xdist#1386).
    | {
        "pytest>=8,<9.2",
        "pytest-xdist",
        "pytest-timeout",
        "ruff==0.17.5",
        "mypy==2.4.1",
        "dill",
        "hypothesis",
        "pytorch-crf",
        "fastapi",
        "grain",
        "httpx",
    }
    # Pinned, so that an index with CPU builds decides which one is installed: the newest brings CUDA on Linux.
    | {"torch==2.13.0"}
)

setup(extras_require=EXTRAS)
