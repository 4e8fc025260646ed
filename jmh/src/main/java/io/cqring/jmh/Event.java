package io.cqring.jmh;

/** What crosses the rings that hand over references: an object with the payload in its fields. 3 words. */
class Event {
    long word0;
    long word1;
    long word2;

    void set(long s) {
        word0 = s;
        word1 = s + 1;
        word2 = s + 2;
    }

    long sum() {
        return word0 + word1 + word2;
    }

    /** 7 words. */
    static final class Wide extends Event {
        long word3;
        long word4;
        long word5;
        long word6;

        void setWide(long s) {
            set(s);
            word3 = s + 3;
            word4 = s + 4;
            word5 = s + 5;
            word6 = s + 6;
        }

        long sumWide() {
            return sum() + word3 + word4 + word5 + word6;
        }
    }
}
