MINE = 'of vendor'
