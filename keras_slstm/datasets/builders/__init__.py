"""TFDS builders of data sets that TFDS does not have, or has in another form.

Importing this package registers them, so that `tfds.load("movie_review")` finds them, too. It is the only part
of `keras_slstm.datasets` that needs the `datasets` extra when it is imported.

Names: TFDS keeps one register for all, and prepared data lies in a folder named after the set. A set whose name TFDS
uses itself is therefore registered with the ending `_original`, since it is read from the original files:
`tfds.load("trec")` is the set of TFDS, `tfds.load("trec_original/fine")` is the one of this package, and neither
takes the prepared data of the other for its own. `load_corpus`, `load_pair_corpus` and `load_tagged_corpus` know the
sets by the names in `BUILDERS`.

Original files are read from `manual_dir` if they are there, and downloaded otherwise. They may be plain or
gzip-compressed, in UTF-8 or, as some were published, in Windows-1252. `data_sets.toml` lists them.

Example:

```python
builder = Trec(config="fine", data_dir="~/tensorflow_datasets")
builder.download_and_prepare(download_config=tfds.download.DownloadConfig(manual_dir="~/trec"))
questions = builder.as_dataset(split="train", as_supervised=True)
```
"""

from keras_slstm.extras import require

require("tensorflow_datasets", "datasets")

from keras_slstm.datasets.builders.dbpedia import Dbpedia  # noqa: E402
from keras_slstm.datasets.builders.fdu_mtl import FduMtl  # noqa: E402
from keras_slstm.datasets.builders.generated_sets import OfficeNotes, TravelDesk  # noqa: E402
from keras_slstm.datasets.builders.inference_sets import MultiNli, Snli  # noqa: E402
from keras_slstm.datasets.builders.pair_sets import Mrpc, Qqp, Sick, Stsb  # noqa: E402
from keras_slstm.datasets.builders.sentence_sets import CR, MPQA, MovieReview, Subj  # noqa: E402
from keras_slstm.datasets.builders.sst import Sst  # noqa: E402
from keras_slstm.datasets.builders.tagged_sets import Conll2003, UdEwt  # noqa: E402
from keras_slstm.datasets.builders.trec import Trec  # noqa: E402

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
