MINE = 'of later'
