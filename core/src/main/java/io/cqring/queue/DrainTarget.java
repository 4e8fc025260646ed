package io.cqring.queue;

import io.cqring.cq.Completion;
import io.cqring.cq.CompletionHandler;
import java.util.function.LongConsumer;

/** Keeps the field behind it off the cache lines of whatever the heap puts in front of the object. 128 bytes. */
abstract class DrainTargetLeftPad {
    byte l000, l001, l002, l003, l004, l005, l006, l007, l008, l009, l010, l011, l012, l013, l014, l015;
    byte l016, l017, l018, l019, l020, l021, l022, l023, l024, l025, l026, l027, l028, l029, l030, l031;
    byte l032, l033, l034, l035, l036, l037, l038, l039, l040, l041, l042, l043, l044, l045, l046, l047;
    byte l048, l049, l050, l051, l052, l053, l054, l055, l056, l057, l058, l059, l060, l061, l062, l063;
    byte l064, l065, l066, l067, l068, l069, l070, l071, l072, l073, l074, l075, l076, l077, l078, l079;
    byte l080, l081, l082, l083, l084, l085, l086, l087, l088, l089, l090, l091, l092, l093, l094, l095;
    byte l096, l097, l098, l099, l100, l101, l102, l103, l104, l105, l106, l107, l108, l109, l110, l111;
    byte l112, l113, l114, l115, l116, l117, l118, l119, l120, l121, l122, l123, l124, l125, l126, l127;
}

/** What the consuming thread stores on each drain. */
abstract class DrainTargetField extends DrainTargetLeftPad {
    LongConsumer consumer;
}

/**
 * Hands the long of each polled entry to the consumer of the drain under way. One per queue, so that a drain allocates nothing.
 * Padded on both sides: the consuming thread stores to it on each drain, and the producing thread reads what lies around it.
 */
final class DrainTarget extends DrainTargetField implements CompletionHandler {
    byte r000, r001, r002, r003, r004, r005, r006, r007, r008, r009, r010, r011, r012, r013, r014, r015;
    byte r016, r017, r018, r019, r020, r021, r022, r023, r024, r025, r026, r027, r028, r029, r030, r031;
    byte r032, r033, r034, r035, r036, r037, r038, r039, r040, r041, r042, r043, r044, r045, r046, r047;
    byte r048, r049, r050, r051, r052, r053, r054, r055, r056, r057, r058, r059, r060, r061, r062, r063;
    byte r064, r065, r066, r067, r068, r069, r070, r071, r072, r073, r074, r075, r076, r077, r078, r079;
    byte r080, r081, r082, r083, r084, r085, r086, r087, r088, r089, r090, r091, r092, r093, r094, r095;
    byte r096, r097, r098, r099, r100, r101, r102, r103, r104, r105, r106, r107, r108, r109, r110, r111;
    byte r112, r113, r114, r115, r116, r117, r118, r119, r120, r121, r122, r123, r124, r125, r126, r127;
    byte r128, r129, r130, r131, r132, r133, r134, r135;

    @Override
    public void onCompletion(Completion completion) {
        consumer.accept(completion.workRequestId());
    }
}
