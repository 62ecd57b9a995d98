import pytest

from keras_slstm.datasets import load_corpus, load_pair_corpus, load_parallel_corpus, load_tagged_corpus
from keras_slstm.datasets.conll import read_conll
from keras_slstm.models.encoders import build_encoder
from keras_slstm.suggestions import did_you_mean, list_names
from keras_slstm.text import tags_to_spans

pytestmark = pytest.mark.short_run("torch")


def test_the_most_similar_name():
    assert did_you_mean("Movie_Reviews", ["trec", "movie_review"]) == ' Did you mean "movie_review"?'
    assert did_you_mean("text", ["Text"]) == ' Did you mean "Text"?'
    assert did_you_mean("weather", ["trec", "movie_review"]) == ""
    assert did_you_mean(None, []) == ""


def test_long_lists_are_truncated():
    assert list_names(str(i) for i in range(22)).endswith('"18", "19" and 2 more')
    assert list_names([]) == "none"


def test_names_of_encoders_schemes_and_columns(tmp_path):
    with pytest.raises(ValueError, match=r'Did you mean "bilstm"\?$'):
        build_encoder("bi_lstm", 3)
    with pytest.raises(ValueError, match=r'Did you mean "BIOES"\?$'):
        tags_to_spans(["O"], "BILOES")
    (tmp_path / "a.conllu").write_text("1\ta\ta\tX\tX\t_\t_\t_\t_\t_\n")
    with pytest.raises(ValueError, match=r'Did you mean "upos"\?$'):
        read_conll(tmp_path / "a.conllu", tag_column="upo")
    with pytest.raises(ValueError, match=r'"office_notes" has no texts in "dee".*Did you mean "de"\?$'):
        load_parallel_corpus("office_notes", target="dee")


@pytest.mark.parametrize(
    ("load", "name", "meant"),
    [
        (load_corpus, "movie_reviews", "movie_review"),
        (load_corpus, "traveldesk", "travel_desk"),
        (load_corpus, "imdb_review", "imdb_reviews"),  # of TFDS
        (load_corpus, "trec/corse", "coarse"),
        (load_pair_corpus, "sick/entailmnt", "entailment"),
        (load_tagged_corpus, "conl2003", "conll2003"),
        (load_parallel_corpus, "office_note", "office_notes"),
    ],
)
def test_names_of_data_sets(load, name, meant):
    pytest.importorskip("tensorflow_datasets")
    with pytest.raises(ValueError, match=rf'Did you mean "{meant}"\?$'):
        load(name)


@pytest.mark.parametrize("load", [load_corpus, load_pair_corpus, load_tagged_corpus, load_parallel_corpus])
def test_a_missing_manual_dir_is_reported(load, tmp_path):
    pytest.importorskip("tensorflow_datasets")
    with pytest.raises(FileNotFoundError, match=rf"^The folder {tmp_path}/missing \(`manual_dir`\) does not exist\.$"):
        load("trec", data_dir=tmp_path, manual_dir=tmp_path / "missing")
