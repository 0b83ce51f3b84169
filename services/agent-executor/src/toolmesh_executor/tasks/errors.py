"""What can go wrong with a task on the broker."""

from toolmesh_contracts.errors import ErrorCode, ToolmeshError

__all__ = ["JournalLostError", "TaskError"]


class TaskError(ToolmeshError):
    """Raised when there is no such task, or it is not in a state for what was asked."""

    default_code = ErrorCode.INVALID_REQUEST


class JournalLostError(ToolmeshError):
    """Raised when another executor goes on with a task, or someone has ended it: whoever had it must stop."""

    default_code = ErrorCode.CANCELLED

    def __init__(self, task: str) -> None:
        super().__init__(f"task {task} is no longer this executor's")
        self.task = task
