# A module that is not there is an error of its own kind, with a suggestion or none.
import no_such_module
