"""TFDS builders of the data sets that TFDS itself does not have.

Importing this package registers them, so that `tfds.load("movie_review")` finds them too. It is the only part
of `keras_slstm.data` that needs the `datasets` extra when it is imported.
"""

from keras_slstm.extras import require

require("tensorflow_datasets", "datasets")

from keras_slstm.data.builders.movie_review import MovieReview  # noqa: E402
from keras_slstm.data.builders.travel_desk import TravelDesk  # noqa: E402

__all__ = ["MovieReview", "TravelDesk"]
