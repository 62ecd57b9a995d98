"""Computes the extras of keras_slstm; all other metadata is in pyproject.toml."""

from setuptools import setup

EXTRAS = {
    # tensorflow-addons has no wheels for Python versions after 3.11.
    "addons": [
        'tensorflow-addons==0.23.0; python_version < "3.12"',
        'tf-keras; python_version < "3.12"',
    ],
    # importlib_resources: tensorflow-datasets 4.9.10 imports it without declaring it.
    "datasets": ["tensorflow-datasets>=4.9.8", "array-record", "importlib_resources"],
    # keras-tuner imports tensorboard in every trial; its Bayesian oracle needs scikit-learn.
    "tuner": ["keras-tuner>=1.4.8", "tensorboard", "scikit-learn>=1.5"],
    "plots": ["matplotlib>=3.8"],
    "translation": ["tokenizers>=0.20", "sacrebleu>=2.4"],
    "jax": ["jax>=0.7"],
    "torch": ["torch>=2.6"],
    "examples": ["scikit-learn>=1.5", "seqeval"],
    # Packages that write and run the formats of `export` other than SavedModel.
    "export": ["tf2onnx>=1.17", "onnx", "onnxscript", "onnxruntime", "openvino", "ai-edge-litert"],
    "export-jax": ["jax2onnx>=0.17", "onnx", "onnxruntime"],  # ONNX from JAX
    "stream": ["array-record", "zstandard", "pyarrow>=15"],
    "mutation": ["cosmic-ray>=8.4", "coverage>=7.6"],
    "docs": ["sphinx>=8", "myst-nb>=1.2", "furo", "sphinx-copybutton", "sphinx-design", "latex2mathml"],
}
EXTRAS["examples"] += EXTRAS["datasets"] + EXTRAS["plots"] + EXTRAS["translation"]
EXTRAS["docs"] += EXTRAS["plots"] + EXTRAS["tuner"]  # the notebooks use them
EXTRAS["all"] = sorted({r for name in ("addons", "tuner", "examples", "stream") for r in EXTRAS[name]})
EXTRAS["test"] = sorted(
    {r for name in ("examples", "jax", "addons", "tuner", "export", "export-jax", "stream") for r in EXTRAS[name]}
    # xdist 3.8 no longer sees its groups with pytest 9.2 (pytest-xdist#1386).
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
        "kubernetes-validate",
    }
    # Pinned, so that pip prefers a CPU build where an index has one: on Linux the newest release installs CUDA.
    | {"torch==2.13.0"}
)

setup(extras_require=EXTRAS)
