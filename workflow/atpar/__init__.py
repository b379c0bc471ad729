"""atpar: which GPU configuration costs least for the same accepted ML result?"""

__version__ = "0.1.0"
