__all__ = ["names"]
names = ["tea", "rice"]
hidden = 1
