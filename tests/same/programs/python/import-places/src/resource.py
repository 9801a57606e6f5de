MINE = 'of src'
