"""The order of the pages of a gallery: tutorials and first examples as one reads them, all others by their name."""

TUTORIALS = (
    "ten_minutes",
    "mandated_scorecard",
    "vendor_score",
    "weekly_capacity",
    "loan_year",
    "earned_year",
    "drift_two_years",
    "groups",
    "several_classes",
    "laptop_to_cluster",
)
FIRST_EXAMPLES = (
    "plot_band",
    "plot_coverage_curve",
    "plot_gate",
    "plot_groups",
    "plot_displays",
)
FIRST = TUTORIALS + FIRST_EXAMPLES


class ReadingOrder:
    """Key by which sphinx-gallery sorts the scripts of a folder."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, filename):
        """The place among those that come first, and the name of all others."""
        name = filename.removesuffix(".py")
        return (FIRST.index(name), "") if name in FIRST else (len(FIRST), filename)
