from streameval.kernel._codes_numpy import from_zero as from_zero
from streameval.kernel._codes_numpy import grouped as grouped
from streameval.kernel._codes_numpy import listed_codes as listed_codes
from streameval.kernel._codes_numpy import taken as taken
from streameval.kernel._codes_numpy import text_codes as text_codes
from streameval.kernel._codes_numpy import view_codes as view_codes
