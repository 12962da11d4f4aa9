"""The order of the pages of a gallery: the tutorials as one reads them, everything else by its name."""

TUTORIALS = (
    "ten_minutes",
    "mandated_scorecard",
    "vendor_score",
    "weekly_capacity",
    "drift_two_years",
    "groups",
    "several_classes",
    "laptop_to_cluster",
)


class ReadingOrder:
    """Key by which sphinx-gallery sorts the scripts of a folder."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, filename):
        """The place among the tutorials, and the name of what is none of them."""
        name = filename.removesuffix(".py")
        return (TUTORIALS.index(name), "") if name in TUTORIALS else (len(TUTORIALS), filename)
