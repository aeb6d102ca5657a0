"""Tests of the TensorFlow device RDNA. `./x test tensorflow` runs them twice: as it is, and in poison mode."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import pytest
import tensorflow as tf
import tf_rdna


@pytest.fixture(autouse=True)
def settings_are_kept():
    mode, placement = tf_rdna.get_fallback_mode(), tf.config.get_soft_device_placement()
    yield
    tf_rdna.set_fallback_mode(mode)
    tf.config.set_soft_device_placement(placement)


@pytest.fixture
def hard_placement():
    """An operation without a kernel on the device that is asked for raises, instead of running elsewhere."""
    tf.config.set_soft_device_placement(False)
