"""Function words: they carry no topic. Written by hand for seven languages; folded like terms before use."""

from __future__ import annotations

from typing import Final

ENGLISH: Final = """
a about after all also am an and any are as at be because been before but by can could did do does for from get had
has have he her here him his how i if in into is it its just me more most my no not of on one or our out over said she
should so some such than that the their them then there these they this to up us was we were what when where which who
whom whose why will with would you your
"""
GERMAN: Final = """
ab aber als am an auch auf aus bei bin bis bist da damit dann das dass dein deine dem den der des die dies diese dir
doch du durch ein eine einem einen einer es für hat hatte habe haben ich ihr ihre im in ist ja kann kein keine man
mein meine meinem meinen meiner mich mir mit nach nicht noch nur ob oder ohne sein seine sich sie sind so über um und
uns von vom vor war was wann warum welche welchem welchen welcher welches wem wen wenn wer werden wie wir wird wo zu
zum zur
"""
ROMANCE_AND_DUTCH: Final = """
au aux avec ce ces dans de des du elle en est et il ils je la le les leur lui ma mais mes mon ne nous par pas pour qu
que qui sa se ses son sur ta te tes ton tu un une vous al como con cual cuando del donde el ella ellos es esta este
fue ha hay las lo los mi mis muy no nos para pero por quien ser si sin sobre su sus ti tiene una uno ya y che chi come
cui da dal della di dove gli i nel non per quale quando sono com do dos em era essa esse eu foi isso na nas o os ou
pela pelo quem são seu sua um uma aan bij dat deze die dit een er haar heb heeft het hij hoe ik is jij kan maar met
mijn naar niet of om ook op uit van voor waar was wat welke wie wij wordt ze zij zijn
"""

LANGUAGES: Final = (ENGLISH, GERMAN, ROMANCE_AND_DUTCH)
FUNCTION_WORDS: Final = frozenset(f"{ENGLISH} {GERMAN} {ROMANCE_AND_DUTCH}".split())
