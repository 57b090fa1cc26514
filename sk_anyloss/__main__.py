"""``python -m sk_anyloss``."""

from sk_anyloss.demo import main

if __name__ == "__main__":
    main()
