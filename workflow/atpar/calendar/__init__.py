"""The rental calendar: windows, packages, forecasts."""
