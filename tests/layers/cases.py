"""The table of public layers to which the common checks apply."""

from __future__ import annotations

import keras

from keras_slstm import layers
from keras_slstm.layers.convolution_stack import ConvolutionStack
from keras_slstm.layers.transformer_encoder import TransformerEncoder
from keras_slstm.models.encoders import build_encoder
from tests.layer_case import LayerCase, Spelled
from tests.layers.partition import Partition
from tests.layers.self_attending import SelfAttending

_PACKED = "potentials hold transitions and mask as well: the case crf_partition shows what they hold of words"
_EXEMPT_AS_PACKED = dict.fromkeys(
    ("shapes", "padding", "nan_padding", "interior_mask", "empty_row", "empty", "float64", "training", "two_replicas"),
    _PACKED,
)
_KERAS_LOOP = "Keras' own loop does not keep that promise; the layers around the cells do"

# As c starts at 0, the sentence node's own kernel has an effect from the third step on, and on words from the fourth.
CASES = [
    LayerCase("max_pooling", layers.MaskedGlobalMaxPooling1D),
    LayerCase("average_pooling", layers.MaskedGlobalAveragePooling1D),
    LayerCase("attention_pooling", lambda: layers.AttentionPooling(5, kernel_regularizer="l2")),
    LayerCase(
        "attention_pooling_scores",
        layers.AttentionPooling,
        outputs=("vector", "sequence"),
        call_kwargs={"return_attention_scores": True},
        variant=True,
    ),
    LayerCase(
        "stacked_cnn",
        lambda: ConvolutionStack(5, num_layers=2),
        outputs=("sequence",),
        interior="cut",
        wrapped=True,
    ),
    LayerCase(
        "transformer",
        lambda: TransformerEncoder(4, num_blocks=1, num_heads=2, dropout=0.0),
        outputs=("sequence",),
        exempt={
            "float64": "Keras' own attention takes float64 to float32",
            "precision": "Keras' own attention asks JAX for a float16 product that a CPU does not have",
            "rematerialisation": "Keras' own attention passes names of dtypes on, which JAX cannot trace",
            "torch_compile": "Keras' own attention is compiled again in the second call",
        },
        wrapped=True,
    ),
    LayerCase("cnn_sentence", lambda: build_encoder("cnn", 5), interior="cut", variant=True),
    LayerCase("normalized_lstm", lambda: layers.NormalizedLSTM(5, kernel_constraint="max_norm")),
    LayerCase(
        "normalized_lstm_states",
        lambda: layers.NormalizedLSTM(
            5, dropout=0.2, recurrent_dropout=0.3, seed=7, return_sequences=True, return_state=True
        ),
        outputs=("sequence", "vector", "vector"),
        stochastic=True,
        variant=True,
    ),
    LayerCase(
        "normalized_lstm_backwards",
        lambda: layers.NormalizedLSTM(5, return_sequences=True, go_backwards=True),
        outputs=("sequence",),
        variant=True,
    ),
    LayerCase(
        "normalized_lstm_bidirectional",
        lambda: keras.layers.Bidirectional(layers.NormalizedLSTM(5, return_sequences=True)),
        outputs=("sequence",),
        wrapped=True,
    ),
    LayerCase(
        "normalized_lstm_cell",
        lambda: keras.layers.RNN(layers.NormalizedLSTMCell(5)),
        empty_row="finite",
        exempt=dict.fromkeys(("nan_padding", "empty", "mask_values"), _KERAS_LOOP),
        wrapped=True,
    ),
    LayerCase("min_gru", lambda: layers.MinGRU(5, kernel_regularizer="l2")),
    LayerCase(
        "min_gru_states",
        lambda: layers.MinGRU(5, dropout=0.2, seed=7, return_sequences=True, return_state=True),
        outputs=("sequence", "vector"),
        stochastic=True,
        variant=True,
    ),
    LayerCase(
        "min_gru_bidirectional",
        lambda: keras.layers.Bidirectional(layers.MinGRU(5, return_sequences=True)),
        outputs=("sequence",),
        wrapped=True,
        variant=True,
    ),
    LayerCase(
        "min_gru_cell",
        lambda: keras.layers.RNN(layers.MinGRUCell(5)),
        empty_row="finite",
        exempt=dict.fromkeys(("nan_padding", "empty", "mask_values"), _KERAS_LOOP),
        wrapped=True,
        variant=True,
    ),
    LayerCase("cas_lstm", lambda: layers.CASLSTM(5, recurrent_regularizer="l2")),
    LayerCase(
        "cas_lstm_states",
        lambda: layers.CASLSTM(
            5,
            dropout=0.2,
            layer_dropout=0.2,
            recurrent_dropout=0.3,
            seed=7,
            return_sequences=True,
            return_state=True,
        ),
        outputs=("sequence", *["vector"] * 4),
        stochastic=True,
        variant=True,
    ),
    LayerCase(
        "cas_lstm_trainable", lambda: layers.CASLSTM(5, num_layers=3, lam="trainable", segment_length=2), variant=True
    ),
    LayerCase("cas_lstm_unweighted", lambda: layers.CASLSTM(5, lam=None), variant=True),
    LayerCase(
        "cas_lstm_peephole",
        lambda: layers.CASLSTM(5, peephole=True, return_sequences=True),
        outputs=("sequence",),
        variant=True,
    ),
    LayerCase(
        "cas_lstm_backwards",
        lambda: layers.CASLSTM(5, return_sequences=True, go_backwards=True),
        outputs=("sequence",),
        variant=True,
    ),
    LayerCase(
        "cas_lstm_bidirectional",
        lambda: keras.layers.Bidirectional(layers.CASLSTM(5, return_sequences=True, segment_length=4)),
        outputs=("sequence",),
        wrapped=True,
    ),
    LayerCase(
        "cas_lstm_cell",
        lambda: keras.layers.RNN(layers.CASLSTMCell(5)),
        exempt=dict.fromkeys(("nan_padding", "empty", "mask_values"), _KERAS_LOOP),
        wrapped=True,
    ),
    LayerCase(
        "attention_decoder",
        lambda: SelfAttending(layers.AttentionDecoder(layers.CASLSTMCell(5), 3, attention_regularizer="l2")),
        outputs=("sequence",),
    ),
    LayerCase("slstm", lambda: layers.SLSTM(5, steps=3), interior="cut"),
    LayerCase(
        "slstm_sequences",
        lambda: layers.SLSTM(5, steps=4, return_sequences=True),
        outputs=("sequence",),
        interior="cut",
        variant=True,
    ),
    LayerCase(
        "slstm_states",
        lambda: layers.SLSTM(
            5,
            3,
            dropout=0.2,
            recurrent_dropout=0.3,
            seed=7,
            return_sequences=True,
            return_state=True,
            rematerialize=True,
        ),
        outputs=("sequence", "vector", "vector"),
        interior="cut",
        stochastic=True,
        variant=True,
    ),
    LayerCase(
        "slstm_wide",
        lambda: layers.SLSTM(5, steps=3, window=2, sentence_nodes=2, initial="projection"),
        interior="cut",
        variant=True,
    ),
    LayerCase(
        "slstm_words_only",
        lambda: layers.SLSTM(5, steps=3, sentence_nodes=0, boundary_words=False, initial="zeros"),
        interior="cut",
        variant=True,
    ),
    LayerCase("subilstm", lambda: layers.SuBiLSTM(3, recurrent_regularizer="l2")),
    LayerCase(
        "subilstm_sequences",
        lambda: layers.SuBiLSTM(3, combine="concat", rematerialize=True, return_sequences=True),
        outputs=("sequence",),
        variant=True,
    ),
    LayerCase(
        "subilstm_untied",
        lambda: layers.SuBiLSTM(3, tied=False, combine="gate", return_sequences=True),
        outputs=("sequence",),
        variant=True,
    ),
    LayerCase(
        "subilstm_gru",
        lambda: layers.SuBiLSTM(
            3, cell="gru", combine="mean", dropout=0.2, recurrent_dropout=0.3, seed=7, return_sequences=True
        ),
        outputs=("sequence",),
        stochastic=True,
        variant=True,
    ),
    LayerCase(
        "subilstm_near",
        lambda: layers.SuBiLSTM(3, max_context=2, return_sequences=True),
        outputs=("sequence",),
        variant=True,
    ),
    LayerCase(
        "subilstm_random",
        lambda: layers.SuBiLSTM(3, tied=False, max_context=(0, 4), seed=7, return_sequences=True),
        outputs=("sequence",),
        stochastic=True,
        variant=True,
    ),
    LayerCase(
        "depth_adaptive_grn",
        lambda: layers.DepthAdaptiveGRN(5, 5, selection="hard", depth_units=5),
        interior="cut",
    ),
    LayerCase(
        "depth_adaptive_grn_gumbel",
        lambda: layers.DepthAdaptiveGRN(
            5,
            5,
            depth_units=5,
            dropout=0.2,
            recurrent_dropout=0.3,
            seed=7,
            return_sequences=True,
            return_state=True,
            rematerialize=True,
        ),
        outputs=("sequence", "vector", "vector"),
        interior="cut",
        stochastic=True,
        variant=True,
    ),
    LayerCase(
        "depth_adaptive_grn_depths",
        lambda: layers.DepthAdaptiveGRN(
            5, 4, selection="soft", sequential="sinusoidal", depth_units=4, depth_penalty=0.1, return_depths=True
        ),
        outputs=("vector", "sequence"),
        variant=True,
        exempt={
            "gradients": "the bias of the depths learns through the regulariser",
            "float64": "depths are integers",
            "interior_mask": "depths come from the sequential module, which joins words across a masked one",
        },
    ),
    LayerCase(
        "depth_adaptive_grn_full",
        lambda: layers.DepthAdaptiveGRN(
            5, 4, selection="full", sequential="learned", max_length=4, depth_units=4, return_sequences=True
        ),
        outputs=("sequence",),
        interior="cut",
        variant=True,
    ),
    LayerCase(
        "depth_adaptive_grn_words",
        lambda: layers.DepthAdaptiveGRN(5, 5, selection="hard", sequential=None, depth_units=4),
        interior="cut",
        variant=True,
    ),
    LayerCase(
        "crf",
        lambda: layers.CRF(labels=["O", "B-X", "I-X"], scheme="BIO", kernel_regularizer="l2"),
        exempt=_EXEMPT_AS_PACKED,
    ),
    LayerCase("crf_partition", lambda: Partition(3)),
    LayerCase("crf_partition_pairwise", lambda: Partition(3, pairwise=True), variant=True),
    LayerCase(
        "semi_markov_crf",
        lambda: layers.SemiMarkovCRF(3, max_length=2, kernel_regularizer="l2"),
        exempt=_EXEMPT_AS_PACKED,
    ),
    LayerCase(
        "second_order_crf",
        lambda: layers.SecondOrderCRF(2, kernel_regularizer="l2"),
        exempt=_EXEMPT_AS_PACKED,
    ),
    LayerCase(
        "crf_decoder",
        lambda: keras.Sequential([layers.CRF(3), layers.CRFDecoder(return_probabilities=True)]),
        outputs=("sequence", "sequence"),
        exempt={
            "precision": "the policy is that of the model, not of its layers",
            "float64": "labels are integers",
            **dict.fromkeys(("training", "two_replicas"), "labels have no gradient"),
        },
    ),
    LayerCase(
        "char_cnn",
        lambda: Spelled(layers.CharCNN(5, kernel_regularizer="l2")),
        outputs=("sequence",),
    ),
    LayerCase("char_bilstm", lambda: Spelled(layers.CharBiLSTM(3)), outputs=("sequence",)),
]
