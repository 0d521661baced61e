"""External workers for Cadenza: pulls jobs of agents, keeps them while they are worked on, and ends them."""

from .api import Api, ApiError
from .worker import Job, JobCancelled, JobError, Worker

__all__ = ["Api", "ApiError", "Job", "JobCancelled", "JobError", "Worker"]
