"""What tests of several folders stand in for: a device without torch, a provider's answer."""

from atpar.engine.devices import CpuDevice


class ArrayDevice(CpuDevice):
    """A device that keeps NumPy arrays as they are."""

    def __init__(self):
        super().__init__("arrays")

    def upload(self, staged):
        return staged

    def download(self, tensors):
        return lambda: list(tensors)


OFFERING = {
    "capacityBlockOfferingId": "cb-1",
    "instanceType": "p5.48xlarge",
    "availabilityZone": "us-east-1a",
    "instanceCount": 2,
    "startDate": "2026-12-07T11:30:00Z",
    "endDate": "2026-12-10T11:30:00Z",
    "capacityBlockDurationHours": 72,
    "upfrontFee": "4532.0000",
    "currencyCode": "USD",
    "tenancy": "default",
}
"""One capacity block as AWS offers it."""
CARDS = {"p5.48xlarge": ("h100", 8)}
"""The GPUs of its instances."""
