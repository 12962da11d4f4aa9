"""Images as tensors, and their random changes."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason='needs torch: pip install "aucross[torch]"')

from aucross.torch.images import ImageScale, ImageTensors, changed_images, check_images


@pytest.fixture
def images():
    return np.random.default_rng(0).integers(0, 256, (50, 16, 16, 3)).astype(np.uint8)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def test_the_scale_is_the_mean_and_deviation_of_each_channel(images):
    scale = ImageScale.fit(images)
    assert scale.means == pytest.approx(images.mean(axis=(0, 1, 2)).tolist())
    assert scale.deviations == pytest.approx(images.std(axis=(0, 1, 2)).tolist())
    assert (scale.height, scale.width) == (16, 16)


def test_a_batch_is_scaled_and_has_its_channels_last_in_memory(images):
    rows = ImageTensors.of_images(images, ImageScale.fit(images), augment=None, precision="auto")
    (batch,) = rows.batch(torch.arange(50))
    assert batch.shape == (50, 3, 16, 16)
    assert batch.dtype == torch.float32
    assert batch.is_contiguous(memory_format=torch.channels_last)
    assert batch.mean(dim=(0, 2, 3)).numpy() == pytest.approx(np.zeros(3), abs=1e-5)
    assert batch.std(dim=(0, 2, 3)).numpy() == pytest.approx(np.ones(3), abs=1e-3)


def test_constant_images_do_not_divide_by_zero():
    black = np.zeros((4, 8, 8, 3), dtype=np.uint8)
    rows = ImageTensors.of_images(black, ImageScale.fit(black), augment=None, precision="auto")
    assert torch.isfinite(rows.batch(torch.arange(4))[0]).all()


def test_half_of_the_images_are_mirrored_and_nothing_else_changes(images):
    pixels = torch.from_numpy(images)
    many = torch.arange(50).repeat(20)
    changed = changed_images(pixels, many, generator(), crop=False)
    mirrored = (changed == pixels[many].flip(2)).flatten(1).all(1)
    same = (changed == pixels[many]).flatten(1).all(1)
    assert (mirrored ^ same).all()
    assert float(mirrored.float().mean()) == pytest.approx(0.5, abs=0.06)


def test_crops_move_images_by_up_to_an_eighth_and_mirror_the_edge():
    image = torch.arange(32 * 32, dtype=torch.int32).reshape(1, 32, 32, 1)
    changed = changed_images(image, torch.zeros(300, dtype=torch.int64), generator(), crop=True)[..., 0]
    middle = changed[:, 16, 16]
    lines, columns = middle // 32, middle % 32
    assert (int(lines.min()), int(lines.max())) == (12, 20)
    # The middle column may also be the mirrored one, 31 - 16.
    assert (int(columns.min()), int(columns.max())) == (11, 20)
    moved_down = changed[lines == 12][0]
    assert torch.equal(moved_down[3], moved_down[5])


def test_scoring_changes_nothing_and_training_changes_are_drawn_from_the_generator(images):
    rows = ImageTensors.of_images(images, ImageScale.fit(images), augment="flip+crop", precision="auto")
    at = torch.arange(50)
    assert torch.equal(rows.batch(at)[0], rows.batch(at)[0])
    assert torch.equal(rows.batch(at, generator(1))[0], rows.batch(at, generator(1))[0])
    assert not torch.equal(rows.batch(at, generator(1))[0], rows.batch(at, generator(2))[0])


def test_images_of_half_size_are_means_of_four_pixels(images):
    rows = ImageTensors.of_images(images, ImageScale.fit(images), augment=None, precision="float64")
    whole, half = (rows.batch(torch.arange(50), half_size=half_size)[0] for half_size in (False, True))
    assert half.shape == (50, 3, 8, 8)
    assert half.is_contiguous(memory_format=torch.channels_last)
    assert half[:, :, 3, 5].numpy() == pytest.approx(whole[:, :, 6:8, 10:12].mean(dim=(2, 3)).numpy())


def test_read_only_images_can_be_used_without_a_warning(images):
    scale = ImageScale.fit(images)
    expected = ImageTensors.of_images(images, scale, augment=None, precision="auto").batch(torch.arange(5))[0]
    images.flags.writeable = False
    rows = ImageTensors.of_images(images, ImageScale.fit(images), augment=None, precision="auto")
    assert torch.equal(rows.batch(torch.arange(5))[0], expected)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: X.transpose(0, 3, 1, 2), r"channels come last: pass X.transpose\(0, 2, 3, 1\)"),
        (lambda X: X[..., :1], "repeat a grey channel"),
        (lambda X: X / 255, r"bytes from 0 to 255, got float64; pass \(255 \* X\)"),
        (lambda X: X.reshape(50, -1), r"shape \(n, height, width, 3\), got shape \(50, 768\)"),
        (lambda X: X[:, :8], r"seen in fit, \(16, 16, 3\), got \(8, 16, 3\)"),
    ],
)
def test_images_of_a_wrong_shape_or_type_are_refused_with_a_remedy(change, message, images):
    with pytest.raises(ValueError, match=message):
        check_images(change(images), (16, 16, 3))
