from streameval.kernel._binned_numpy import Bins as Bins
from streameval.kernel._binned_numpy import bins_of as bins_of
