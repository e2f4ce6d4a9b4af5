module checker

go 1.16

require github.com/anishathalye/porcupine v1.0.0
