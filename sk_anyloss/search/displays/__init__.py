"""Pictures of what a search found, in the convention of scikit-learn's displays."""

from sk_anyloss.search.displays.settings import SettingsDisplay
from sk_anyloss.search.displays.threshold import ThresholdDisplay
from sk_anyloss.search.displays.weights import WeightsDisplay

__all__ = ["SettingsDisplay", "ThresholdDisplay", "WeightsDisplay"]
