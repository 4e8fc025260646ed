package io.cqring.notify;

/** Where the search for the best profile stands. Right is towards more entries per event. */
public enum TuneState {
    /** Found a profile that is better than its neighbours, or the end of the table; stays until the traffic changes. */
    PARKING_ON_TOP,
    /** Has made many steps and found nothing; rests for as many windows. */
    PARKING_TIRED,
    /** Tries profiles with more entries per event. */
    GOING_RIGHT,
    /** Tries profiles with fewer entries per event. */
    GOING_LEFT
}
