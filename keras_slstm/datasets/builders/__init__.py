"""TFDS builders of data sets that TFDS lacks, or has in another form.

Importing this package registers them, so that `tfds.load("movie_review")` also finds them. It is the only part of
`keras_slstm.datasets` whose import needs the `datasets` extra.

TFDS has one registry and names the folder of prepared data after the set. A set whose name TFDS already uses is
therefore registered with the suffix `_original`, because it is read from the original files: `tfds.load("trec")` is the
set of TFDS and `tfds.load("trec_original/fine")` that of this package, and their prepared data stays apart.
`load_corpus`, `load_pair_corpus` and `load_tagged_corpus` use the names in `BUILDERS`.

Original files are read from `manual_dir` if they are there, and downloaded otherwise. They may be plain or
gzip-compressed, in UTF-8 or, like some published files, in Windows-1252. `data_sets.toml` lists them.

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

# The sets that are read from their original files, for `load_corpus`, `load_pair_corpus` and `load_tagged_corpus`.
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
