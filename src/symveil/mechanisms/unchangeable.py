"""What every mechanism keeps: its parameters as they were, and its tables at home."""

from __future__ import annotations

from symveil.numerics.once import computed_once


class Unchangeable:
    """An attribute is set once; copies in other processes get the parameters and no tables."""

    def __setattr__(self, name: str, value: object) -> None:
        # A mechanism is what it was built as: another ε under the old guarantee would be a broken promise.
        if name in self.__dict__:
            raise AttributeError(f"{type(self).__name__}.{name} cannot be changed; build another mechanism")
        super().__setattr__(name, value)

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)

    def __getstate__(self) -> dict[str, object]:
        # tables are made again where they are needed: a worker gets the parameters only
        kind = type(self)
        return {
            name: value
            for name, value in self.__dict__.items()
            if not isinstance(getattr(kind, name, None), computed_once)
        }
