mine = "the job's queue"
