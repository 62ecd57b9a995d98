"""Write your own encoder, and use it in the package's models.

    python examples/own_layer.py

The layer is a stack of gated convolutions (Dauphin et al., 2017). An encoder maps `(batch, time, features)` and a
`mask` to word vectors that do not depend on padding, and has a `get_config` so that Keras can load it. The models pool
its vectors, train it, and save it in their file.
"""

import argparse
import os
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras_slstm  # isort: skip  (before Keras, so that it applies TensorFlow's log level)

import keras

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--epochs", type=int, default=5)
parser.add_argument("--output", type=Path, default=Path("runs/travel_desk-own"), help="folder of the model")
args = parser.parse_args()


@keras.saving.register_keras_serializable(package="my_package")
class GatedConvolutions(keras.layers.Layer):
    """Computes word vectors `(batch, time, units)` with a stack of convolutions, half of whose outputs are gates."""

    def __init__(self, units, num_layers=3, kernel_size=5, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.units, self.num_layers, self.kernel_size = units, num_layers, kernel_size
        self.convolutions = [keras.layers.Conv1D(2 * units, kernel_size, padding="same") for _ in range(num_layers)]

    def build(self, input_shape):
        """Create the weights: each convolution after the first reads the output of the previous one."""
        features = input_shape[-1]
        for convolution in self.convolutions:
            convolution.build((*input_shape[:-1], features))
            features = self.units
        self.built = True

    def call(self, inputs, mask=None):
        """Set padding to zero before each convolution, so that its length does not matter."""
        x = inputs
        for convolution in self.convolutions:
            if mask is not None:
                x = x * keras.ops.cast(mask, x.dtype)[..., None]
            values, gates = keras.ops.split(convolution(x), 2, axis=-1)
            new = values * keras.ops.sigmoid(gates)
            x = x + new if x.shape[-1] == self.units else new
        return x

    def compute_output_shape(self, input_shape):
        """Return the shape of one vector per word."""
        return (*input_shape[:-1], self.units)

    def get_config(self):
        """Return the arguments, from which Keras recreates the layer."""
        sizes = {"units": self.units, "num_layers": self.num_layers, "kernel_size": self.kernel_size}
        return {**super().get_config(), **sizes}


# A model takes the layer itself. A search over encoders takes names such as "slstm"; to register a name for your layer:
# keras_slstm.models.register_encoder("gated", lambda units, return_sequences, **options: ...)
corpus = keras_slstm.datasets.load_corpus("travel_desk")
keras.utils.set_random_seed(0)
model = keras_slstm.SentenceClassifier(
    corpus.label_names, encoder=GatedConvolutions(64), pooling="max", embedding_dim=64, dropout=0.2
)
model.adapt(corpus.train.texts)
print(f"{model.count_params():,} parameters")
# XLA would compile once per sentence length, which takes longer than this training. JAX requires it.
compiled = keras.backend.backend() == "jax"
model.compile(keras.optimizers.Adam(2e-3), jit_compile=compiled)
validation = (corpus.validation.texts, corpus.validation.labels)
model.fit(corpus.train.texts, corpus.train.labels, validation_data=validation, epochs=args.epochs, verbose=2)
_, accuracy = model.evaluate(corpus.test.texts, corpus.test.labels, verbose=0)
print(f"Test accuracy: {accuracy:.3f}")

# Use: a program must import the class before it loads the file.
args.output.mkdir(parents=True, exist_ok=True)
path = args.output / "model.keras"
model.save(path)
print(f"Saved {path}")
model = keras.saving.load_model(path)
sentences = [
    "Could you please book me a flight from Oslo to Rome on Friday?",
    "Cancel the hotel in Paris, but leave my flight as it is.",
]
for label, sentence in zip(model.classify(sentences), sentences):
    print(f"{label:16} {sentence}")
