from streameval.kernel._paired_numpy import Pairs as Pairs
