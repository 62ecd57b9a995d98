"""Pure tensor functions below the layers: one idea a module, written against ``keras.ops``."""
