# A fork server serves a pool, and an error comes back with its trace.
import multiprocessing as mp


def third(n):
    return 3 / n


if __name__ == "__main__":
    with mp.get_context("forkserver").Pool(2) as pool:
        print(pool.map(third, [1, 3]))
        pool.map(third, [1, 0])
