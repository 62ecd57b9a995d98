"""TFDS builders of data sets that TFDS itself does not have, or has otherwise.

Importing this package registers them, so that `tfds.load("movie_review")` finds them too. It is the only part
of `keras_slstm.datasets` that needs the `datasets` extra when it is imported.

Names: TFDS keeps one register for all, and prepared data lies in a folder of the set's name. A set whose name TFDS
has given to one of its own is therefore registered with the ending `_original` (it is read from the original
files): `tfds.load("trec")` stays what it was, `tfds.load("trec_original/fine")` is ours, and neither takes the
other's prepared data for its own. `load_corpus`, `load_pair_corpus` and `load_tagged_corpus` know the sets by the
names in `BUILDERS`.
"""

from keras_slstm.extras import require

require("tensorflow_datasets", "datasets")

from keras_slstm.datasets.builders.conll2003 import Conll2003  # noqa: E402
from keras_slstm.datasets.builders.cr import CR  # noqa: E402
from keras_slstm.datasets.builders.dbpedia import Dbpedia  # noqa: E402
from keras_slstm.datasets.builders.fdu_mtl import FduMtl  # noqa: E402
from keras_slstm.datasets.builders.movie_review import MovieReview  # noqa: E402
from keras_slstm.datasets.builders.mpqa import MPQA  # noqa: E402
from keras_slstm.datasets.builders.mrpc import Mrpc  # noqa: E402
from keras_slstm.datasets.builders.multi_nli import MultiNli  # noqa: E402
from keras_slstm.datasets.builders.office_notes import OfficeNotes  # noqa: E402
from keras_slstm.datasets.builders.qqp import Qqp  # noqa: E402
from keras_slstm.datasets.builders.sick import Sick  # noqa: E402
from keras_slstm.datasets.builders.snli import Snli  # noqa: E402
from keras_slstm.datasets.builders.sst import Sst  # noqa: E402
from keras_slstm.datasets.builders.stsb import Stsb  # noqa: E402
from keras_slstm.datasets.builders.subj import Subj  # noqa: E402
from keras_slstm.datasets.builders.travel_desk import TravelDesk  # noqa: E402
from keras_slstm.datasets.builders.trec import Trec  # noqa: E402
from keras_slstm.datasets.builders.ud_ewt import UdEwt  # noqa: E402

# The sets that are read from their original files: for `load_corpus`, of pairs for `load_pair_corpus`,
# and of tagged sentences for `load_tagged_corpus`.
BUILDERS = {
    "cr": CR,
    "dbpedia": Dbpedia,
    "fdu_mtl": FduMtl,
    "movie_review": MovieReview,
    "mpqa": MPQA,
    "sst": Sst,
    "subj": Subj,
    "trec": Trec,
    "mrpc": Mrpc,
    "multi_nli": MultiNli,
    "qqp": Qqp,
    "sick": Sick,
    "snli": Snli,
    "stsb": Stsb,
    "conll2003": Conll2003,
    "ud_ewt": UdEwt,
}

__all__ = [
    "BUILDERS",
    "CR",
    "MPQA",
    "Conll2003",
    "Dbpedia",
    "FduMtl",
    "MovieReview",
    "Mrpc",
    "MultiNli",
    "OfficeNotes",
    "Qqp",
    "Sick",
    "Snli",
    "Sst",
    "Stsb",
    "Subj",
    "TravelDesk",
    "Trec",
    "UdEwt",
]
