"""Checks that all training commands must pass."""

from __future__ import annotations

import keras
import numpy as np


def check_that_an_interrupted_training_resumes(command, options, monkeypatch, capsys):
    """Interrupt a two-epoch training by Ctrl-C after the first epoch; the command then trains only the second."""
    given = [*options, "--epochs", 2]
    fit = keras.Model.fit

    def stop(epoch, logs):
        if epoch == 1:
            raise KeyboardInterrupt

    def interrupted(self, *args, callbacks, **kwargs):
        return fit(self, *args, callbacks=[*callbacks, keras.callbacks.LambdaCallback(on_epoch_begin=stop)], **kwargs)

    with monkeypatch.context() as patched:
        patched.setattr(keras.Model, "fit", interrupted)
        assert command(*given) == 130
    assert "same command continues" in capsys.readouterr().err
    assert command(*given) == 0
    out = capsys.readouterr().out
    assert "after epoch 1" in out
    assert "Epoch 1/2" not in out
    assert "Epoch 2/2" in out


def check_that_training_resumes_within_an_epoch(command, options, folder, monkeypatch, capsys):
    """Interrupt the second step by Ctrl-C; the same command trains the other steps and ends with the same model."""
    given = [*options, "--output", folder, "--epochs", 1, "--save-every", 1]
    fit = keras.Model.fit

    def steps_of(*arguments, interrupt=None):
        """Run the command and return the steps that it begins."""
        steps = []

        def begin(step, logs):
            steps.append(step)
            if step == interrupt:
                raise KeyboardInterrupt

        def with_callback(self, *args, callbacks, **kwargs):
            counter = keras.callbacks.LambdaCallback(on_train_batch_begin=begin)
            return fit(self, *args, callbacks=[*callbacks, counter], **kwargs)

        with monkeypatch.context() as patched:
            patched.setattr(keras.Model, "fit", with_callback)
            assert command(*arguments) == (0 if interrupt is None else 130)
        return steps

    def weights():
        return keras.saving.load_model(folder / "model.keras").get_weights()

    assert len(steps_of(*given, interrupt=1)) == 2
    assert "same command continues" in capsys.readouterr().err
    rest, resumed = steps_of(*given), weights()
    every, uninterrupted = steps_of(*given, "--overwrite"), weights()
    assert len(every) > 2
    assert len(rest) == len(every) - 1
    for one, other in zip(resumed, uninterrupted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-7)
