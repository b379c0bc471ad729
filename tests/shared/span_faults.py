"""Faults of a worker's measured span, to be put into `atpar.engine.span`."""

AFTER_3_BATCHES = """
_upload = Span._upload
_count = [0]

def _faulty(self, *batch):
    _count[0] += 1
    time.sleep(GROUP_S)
    if _count[0] == 5:  # The warm-up takes one batch.
        {fault}
    return _upload(self, *batch)

Span._upload = _faulty
"""
"""`fault` is a statement; three batches have their results by then, each slow enough to be kept."""
