MINE = 'of src'


class PollSelector:
    pass
