export default 'own sub';
